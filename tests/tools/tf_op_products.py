"""Random calls of TensorFlow's products, convolutions, pooling and normalisations for check_tf_ops.py; rows of OPS
as in tf_op_calls.py."""
import itertools

import numpy as np
import tensorflow as tf

from tf_op_calls import C, I, OPS, R, ops


# --- products ---
@ops("MatMul")
def _(T):
    for a, b in itertools.product((False, True), repeat=2):
        yield {"a": R(T, *((4, 3) if a else (3, 4))), "b": R(T, *((5, 4) if b else (4, 5))), "transpose_a": a,
               "transpose_b": b}


@ops("SparseMatMul")
def _(Ta, Tb):
    yield {"a": R(Ta, 4, 3), "b": R(Tb, 4, 5), "transpose_a": True}


@ops("BatchMatMul BatchMatMulV2")
def _(T):
    for a, b in ((False, False), (True, False), (False, True)):
        yield {"x": R(T, 2, *((4, 3) if a else (3, 4))), "y": R(T, 2, *((5, 4) if b else (4, 5))), "adj_x": a,
               "adj_y": b}


@ops("BatchMatMulV3")
def _(Ta, Tb, Tout):
    yield {"x": R(Ta, 2, 1, 3, 4), "y": R(Tb, 3, 4, 5), "Tout": Tout}


@ops("Einsum")
def _(T):
    for equation, shapes in (("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("ij->ji", ((3, 4),)), ("ijj->i", ((2, 3, 3),)),
                             ("...ij,jk->...ik", ((2, 3, 4), (4, 2))), ("ij,ij->", ((3, 4), (3, 4)))):
        yield {"inputs": [R(T, *shape) for shape in shapes], "equation": equation}


@ops("BiasAdd")
def _(T):
    for data_format in ("NHWC", "NCHW"):
        yield {"value": R(T, 2, 3, 4, 3), "bias": R(T, 3), "data_format": data_format}


@ops("BiasAddV1")
def _(T):
    yield {"value": R(T, 2, 3), "bias": R(T, 3)}


@ops("BiasAddGrad")
def _(T):
    for data_format in ("NHWC", "NCHW"):
        yield {"out_backprop": R(T, 2, 3, 4, 3), "data_format": data_format}


def conv_options(rank):
    """Padding, strides, dilations and format."""
    space = rank - 2
    for padding, stride, dilation, first in (("VALID", 1, 1, False), ("SAME", 2, 1, False), ("SAME", 1, 2, False),
                                             ("SAME", 2, 1, True)):
        names = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}[rank]
        place = (lambda v: [1, 1] + [v] * space) if first else (lambda v: [1] + [v] * space + [1])
        yield {"padding": padding, "strides": place(stride), "dilations": place(dilation), "data_format": names[first]}


def image_shape(options, space, channels, batch=2):
    first = options["data_format"].startswith("NC")
    return [batch, channels] + list(space) if first else [batch] + list(space) + [channels]


def conv_output(options, space, window, channels, batch=2):
    first = options["data_format"].startswith("NC")
    strides = options["strides"][2:] if first else options["strides"][1:-1]
    dilations = options["dilations"][2:] if first else options["dilations"][1:-1]
    sizes = []
    for n, k, s, d in zip(space, window, strides, dilations):
        sizes.append(-(-n // s) if options["padding"] == "SAME" else -(-(n - (k - 1) * d) // s))
    return image_shape(options, sizes, channels, batch)


@ops("Conv2D")
def _(T):
    for options in conv_options(4):
        yield dict(input=R(T, *image_shape(options, (7, 8), 4)), filter=R(T, 3, 2, 4, 3), **options)
    options = dict(strides=[1, 2, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])
    yield dict(input=R(T, 2, 7, 8, 4), filter=R(T, 3, 2, 2, 6), **options)


@ops("Conv2DBackpropInput")
def _(T):
    for options in conv_options(4):
        yield dict(input_sizes=C(image_shape(options, (7, 8), 4)), filter=R(T, 3, 2, 4, 3),
                   out_backprop=R(T, *conv_output(options, (7, 8), (3, 2), 3)), **options)


@ops("Conv2DBackpropFilter")
def _(T):
    for options in conv_options(4):
        yield dict(input=R(T, *image_shape(options, (7, 8), 4)), filter_sizes=C([3, 2, 4, 3]),
                   out_backprop=R(T, *conv_output(options, (7, 8), (3, 2), 3)), **options)


@ops("Conv3D")
def _(T):
    for options in conv_options(5):
        yield dict(input=R(T, *image_shape(options, (5, 6, 4), 2)), filter=R(T, 3, 2, 2, 2, 3), **options)


@ops("Conv3DBackpropInputV2")
def _(T, Tshape="int32"):
    for options in conv_options(5):
        yield dict(input_sizes=C(image_shape(options, (5, 6, 4), 2), Tshape), filter=R(T, 3, 2, 2, 2, 3),
                   out_backprop=R(T, *conv_output(options, (5, 6, 4), (3, 2, 2), 3)), **options)


@ops("Conv3DBackpropFilterV2")
def _(T):
    for options in conv_options(5):
        yield dict(input=R(T, *image_shape(options, (5, 6, 4), 2)), filter_sizes=C([3, 2, 2, 2, 3]),
                   out_backprop=R(T, *conv_output(options, (5, 6, 4), (3, 2, 2), 3)), **options)


@ops("DepthwiseConv2dNative")
def _(T):
    for options in conv_options(4):
        yield dict(input=R(T, *image_shape(options, (7, 8), 3)), filter=R(T, 3, 2, 3, 2), **options)


@ops("DepthwiseConv2dNativeBackpropInput")
def _(T):
    for options in conv_options(4):
        yield dict(input_sizes=C(image_shape(options, (7, 8), 3)), filter=R(T, 3, 2, 3, 2),
                   out_backprop=R(T, *conv_output(options, (7, 8), (3, 2), 6)), **options)


@ops("DepthwiseConv2dNativeBackpropFilter")
def _(T):
    for options in conv_options(4):
        yield dict(input=R(T, *image_shape(options, (7, 8), 3)), filter_sizes=C([3, 2, 3, 2]),
                   out_backprop=R(T, *conv_output(options, (7, 8), (3, 2), 6)), **options)


@ops("Conv")
def _(T):
    yield {"input": R(T, 2, 7, 8, 4), "filter": R(T, 3, 2, 4, 3), "strides": [1, 2, 1, 1], "padding": "SAME"}
    yield {"input": R(T, 2, 5, 6, 4, 4), "filter": R(T, 2, 2, 2, 2, 6), "strides": [1, 1, 2, 1, 1], "padding": "VALID",
           "groups": 2}


def pool_options(rank):
    space = rank - 2
    names = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}[rank]
    for padding, first in (("VALID", False), ("SAME", False), ("SAME", True)):
        place = (lambda v: [1, 1] + v) if first else (lambda v: [1] + v + [1])
        yield {"ksize": place([3, 2, 2][:space]), "strides": place([2, 1, 2][:space]), "padding": padding,
               "data_format": names[first], "dilations": place([1] * space)}


def pool_calls(rank, space, make):
    def calls(T, **_):
        for options in pool_options(rank):
            window = [k for k in options["ksize"] if k > 1]
            shape, out = image_shape(options, space, 3), conv_output(options, space, window, 3)
            del options["dilations"]
            yield from make(T, shape, out, options)
    return calls


def max_pool_grad(T, shape, out, options):
    x = R(T, *shape)
    yield dict(orig_input=x, orig_output="MaxPool" if len(shape) == 4 else "MaxPool3D", grad=R(T, *out), **options)


def max_pool_grad_grad(T, shape, out, options):
    yield dict(orig_input=R(T, *shape), orig_output="MaxPool" if len(shape) == 4 else "MaxPool3D", grad=R(T, *shape),
               **options)


def v2(make):
    """Window and strides are inputs."""
    def calls(T, shape, out, options):
        for call in make(T, shape, out, options):
            yield dict(call, ksize=C(options["ksize"]), strides=C(options["strides"]))
    return calls


OPS["MaxPool"] = pool_calls(4, (7, 8), lambda T, shape, out, o: [dict(input=R(T, *shape), **o)])
OPS["MaxPoolV2"] = pool_calls(4, (7, 8), v2(lambda T, shape, out, o: [dict(input=R(T, *shape), **o)]))
OPS["MaxPool3D"] = OPS["AvgPool3D"] = pool_calls(5, (5, 6, 4), lambda T, shape, out, o: [dict(input=R(T, *shape), **o)])
OPS["AvgPool"] = pool_calls(4, (7, 8), lambda T, shape, out, o: [dict(value=R(T, *shape), **o)])
OPS["AvgPoolGrad"] = pool_calls(4, (7, 8), lambda T, shape, out,
                                o: [dict(orig_input_shape=C(shape), grad=R(T, *out), **o)])
OPS["AvgPool3DGrad"] = pool_calls(5, (5, 6, 4), lambda T, shape, out,
                                  o: [dict(orig_input_shape=C(shape), grad=R(T, *out), **o)])
OPS["MaxPoolGrad"] = pool_calls(4, (7, 8), max_pool_grad)
OPS["MaxPoolGradV2"] = pool_calls(4, (7, 8), v2(max_pool_grad))
OPS["MaxPool3DGrad"] = pool_calls(5, (5, 6, 4), max_pool_grad)
OPS["MaxPoolGradGrad"] = pool_calls(4, (7, 8), max_pool_grad_grad)
OPS["MaxPoolGradGradV2"] = pool_calls(4, (7, 8), v2(max_pool_grad_grad))
OPS["MaxPool3DGradGrad"] = pool_calls(5, (5, 6, 4), max_pool_grad_grad)


@ops("FusedBatchNorm")
def _(T):
    yield from norms(T, T)


@ops("FusedBatchNormV2 FusedBatchNormV3")
def _(T, U):
    yield from norms(T, U)


def norms(T, U):
    for training, data_format, shape in ((True, "NHWC", (2, 3, 4, 5)), (False, "NHWC", (2, 3, 4, 5)),
                                         (True, "NCHW", (2, 5, 3, 4))):
        yield {"x": R(T, *shape), "scale": R(U, 5), "offset": R(U, 5), "mean": R(U, 5), "variance": R(U, 5, low=0.5),
               "epsilon": 0.01, "is_training": training, "data_format": data_format,
               "exponential_avg_factor": 0.9 if training else 1.0}


def norm_grads(T, U, more):
    for training, data_format, shape in ((True, "NHWC", (2, 3, 4, 5)), (False, "NHWC", (2, 3, 4, 5)),
                                         (True, "NCHW", (2, 5, 3, 4))):
        call = {"y_backprop": R(T, *shape), "x": R(T, *shape), "scale": R("float32", 5),
                "reserve_space_1": R(U, 5, low=-0.2, high=0.2),
                "reserve_space_2": R(U, 5, low=0.5), "epsilon": 0.01, "is_training": training,
                "data_format": data_format}
        yield dict(call, **({"reserve_space_3": R(U, 5)} if more else {}))


OPS["FusedBatchNormGrad"] = lambda T: norm_grads(T, T, False)
OPS["FusedBatchNormGradV2"] = lambda T, U: norm_grads(T, U, False)
OPS["FusedBatchNormGradV3"] = lambda T, U: norm_grads(T, U, True)


@ops("LRN")
def _(T):
    yield {"input": R(T, 2, 3, 4, 7), "depth_radius": 2, "bias": 1.1, "alpha": 0.7, "beta": 0.6}


@ops("LRNGrad")
def _(T):
    x = R(T, 2, 3, 4, 7)
    options = {"depth_radius": 2, "bias": 1.1, "alpha": 0.7, "beta": 0.6}
    yield dict({"input_grads": R(T, 2, 3, 4, 7), "input_image": x,
                "output_image": tf.raw_ops.LRN(input=x, **options).numpy()}, **options)


@ops("Softmax LogSoftmax")
def _(T):
    yield {"logits": R(T, 2, 3, 4)}


@ops("SoftmaxCrossEntropyWithLogits")
def _(T):
    yield {"features": R(T, 3, 4), "labels": np.full((3, 4), 0.25, tf.as_dtype(T).as_numpy_dtype)}


@ops("SparseSoftmaxCrossEntropyWithLogits")
def _(T, Tlabels="int32"):
    yield {"features": R(T, 3, 4), "labels": I(4, 3, dtype=Tlabels)}
