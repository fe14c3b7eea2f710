"""Random calls of TensorFlow's operations on images for check_tf_ops.py; rows of OPS as in tf_op_calls.py."""
import numpy as np

from tf_op_calls import C, OPS, R, ops


# --- images ---
@ops("AdjustContrastv2")
def _(T):
    yield {"images": R(T, 2, 4, 5, 3, low=0, high=1), "contrast_factor": R("float32", low=0.5)}


@ops("AdjustHue")
def _(T):
    yield {"images": R(T, 2, 4, 5, 3, low=0, high=1), "delta": R("float32", low=-0.5, high=0.5)}


@ops("AdjustSaturation")
def _(T):
    yield {"images": R(T, 2, 4, 5, 3, low=0, high=1), "scale": R("float32", low=0.5)}


@ops("RGBToHSV HSVToRGB")
def _(T):
    yield {"images": R(T, 2, 4, 3, low=0, high=1)}


RESIZE = [dict(), dict(align_corners=True), dict(half_pixel_centers=True)]


@ops("ResizeBilinear ResizeNearestNeighbor ResizeBicubic")
def _(T):
    for options in RESIZE:
        for size in ((7, 3), (2, 8), (4, 5)):
            yield dict({"images": R(T, 2, 4, 5, 3), "size": C(size)}, **options)


@ops("ResizeArea")
def _(T):
    for options in RESIZE[:2]:
        for size in ((7, 3), (2, 8), (4, 5), (3, 3)):
            yield dict({"images": R(T, 2, 4, 5, 3), "size": C(size)}, **options)


@ops("ResizeBilinearGrad ResizeBicubicGrad")
def _(T):
    for options in RESIZE[:2]:
        yield dict({"grads": R("float32", 2, 7, 3, 3), "original_image": R(T, 2, 4, 5, 3)}, **options)


KERNELS = ["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]


def resamplings():
    for kernel in KERNELS:
        for antialias in (False, True):
            yield {"scale": C([0.6, 1.7], np.float32), "translation": C([0.3, -1.2], np.float32), "kernel_type": kernel,
                   "antialias": antialias}


@ops("ScaleAndTranslate")
def _(T):
    for options in resamplings():
        yield dict({"images": R(T, 2, 7, 5, 3), "size": C((4, 9))}, **options)


@ops("ScaleAndTranslateGrad")
def _(T):
    for options in resamplings():
        yield dict({"grads": R("float32", 2, 4, 9, 3), "original_image": R(T, 2, 7, 5, 3)}, **options)


def projections(name):
    def calls(dtype):
        for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
            for interpolation in ("BILINEAR", "NEAREST"):
                t = np.tile(np.array([1, 0, 0, 0, 1, 0, 0, 0], np.float32), (2, 1)) + R("float32", 2, 8, low=-0.4,
                    high=0.4)
                t[:, [2, 5]] *= 30
                t[:, 6:] *= 0.1
                more = {"fill_value": np.float32(3)} if name.endswith("V3") else {}
                yield dict({"images": R(dtype, 2, 5, 6, 2), "transforms": t, "output_shape": C([6, 7]),
                            "interpolation": interpolation,
                            "fill_mode": mode}, **more)
    return calls


for name in ("ImageProjectiveTransformV2", "ImageProjectiveTransformV3"):
    OPS[name] = projections(name)


@ops("ResizeNearestNeighborGrad")
def _(T):
    for options in RESIZE:
        yield dict({"grads": R(T, 2, 7, 3, 3), "size": C((4, 5))}, **options)
