"""Random calls of TensorFlow's operations that move elements for check_tf_ops.py; rows of OPS as in tf_op_calls.py."""
import numpy as np

from tf_op_calls import C, I, OPS, R, ops


# --- movement ---
@ops("Reshape")
def _(T, Tshape="int32"):
    yield {"tensor": R(T, 2, 6), "shape": C([3, -1], Tshape)}


@ops("ExpandDims")
def _(T, Tdim="int32"):
    yield {"input": R(T, 2, 3), "axis": C(-1, Tdim)}


@ops("Squeeze")
def _(T):
    yield {"input": R(T, 1, 3, 1)}
    yield {"input": R(T, 1, 3, 1), "axis": [-1]}


@ops("Transpose ConjugateTranspose")
def _(T, Tperm="int32"):
    yield {"x": R(T, 2, 3, 4), "perm": C([2, 0, 1], Tperm)}


@ops("Concat")
def _(T):
    yield {"concat_dim": C(1), "values": [R(T, 2, 3), R(T, 2, 1)]}


@ops("ConcatV2")
def _(T, Tidx="int32"):
    yield {"values": [R(T, 2, 3), R(T, 2, 1)], "axis": C(-1, Tidx)}


@ops("Pack")
def _(T):
    for axis in (0, -1):
        yield {"values": [R(T, 2, 3), R(T, 2, 3)], "axis": axis}


@ops("Unpack")
def _(T):
    yield {"value": R(T, 2, 3), "num": 3, "axis": 1}


@ops("Split")
def _(T):
    yield {"axis": C(1), "value": R(T, 2, 6), "num_split": 3}


@ops("SplitV")
def _(T, Tlen="int32"):
    if Tlen != "int8":  # TensorFlow's own shape inference ends the process
        yield {"value": R(T, 2, 6), "size_splits": C([1, -1, 2], Tlen), "axis": C(1), "num_split": 3}


@ops("Tile")
def _(T, Tmultiples="int32"):
    yield {"input": R(T, 2, 3), "multiples": C([2, 3], Tmultiples)}


@ops("Slice")
def _(T, Index="int32"):
    yield {"input": R(T, 4, 5), "begin": C([1, 2], Index), "size": C([2, -1], Index)}
    yield {"input": R(T, 4, 5), "begin": I(2, 2, dtype=Index), "size": C([2, 3], Index)}


MASKS = [dict(), dict(begin_mask=1, end_mask=2), dict(shrink_axis_mask=1), dict(new_axis_mask=2), dict(ellipsis_mask=1),
         dict(ellipsis_mask=2, shrink_axis_mask=1)]


@ops("StridedSlice")
def _(T, Index="int32"):
    for mask in MASKS:
        yield dict({"input": R(T, 4, 5, 3), "begin": C([1, 0, 2], Index), "end": C([3, 5, 0], Index),
                    "strides": C([1, 2, -1], Index)}, **mask)


@ops("StridedSliceGrad")
def _(T, Index="int32"):
    yield {"shape": C([4, 5], Index), "begin": C([1, 4], Index), "end": C([3, 0], Index), "strides": C([1, -2], Index),
           "dy": R(T, 2, 2)}
    yield {"shape": C([4, 5], Index), "begin": C([1, 4], Index), "end": C([3, 0], Index), "strides": C([1, -2], Index),
           "dy": R(T, 2), "shrink_axis_mask": 1}


@ops("TensorStridedSliceUpdate")
def _(T, Index="int32"):
    yield {"input": R(T, 4, 5), "begin": C([1, 4], Index), "end": C([3, 0], Index), "strides": C([1, -2], Index),
           "value": R(T, 2, 2)}


@ops("Pad")
def _(T, Tpaddings="int32"):
    yield {"input": R(T, 2, 3), "paddings": C([[1, 0], [0, 2]], Tpaddings)}


@ops("PadV2")
def _(T, Tpaddings="int32"):
    yield {"input": R(T, 2, 3), "paddings": C([[1, 0], [0, 2]], Tpaddings), "constant_values": R(T)}


@ops("MirrorPad")
def _(T, Tpaddings="int32"):
    for mode in ("REFLECT", "SYMMETRIC"):
        yield {"input": R(T, 3, 4), "paddings": C([[1, 2], [0, 3]], Tpaddings), "mode": mode}


@ops("MirrorPadGrad")
def _(T, Tpaddings="int32"):
    for mode in ("REFLECT", "SYMMETRIC"):
        yield {"input": R(T, 6, 7), "paddings": C([[1, 2], [0, 3]], Tpaddings), "mode": mode}


@ops("Reverse")
def _(T):
    yield {"tensor": R(T, 2, 3), "dims": C([True, False], bool)}


@ops("ReverseV2")
def _(T, Tidx="int32"):
    yield {"tensor": R(T, 2, 3, 2), "axis": C([0, -1], Tidx)}


@ops("ReverseSequence")
def _(T, Tlen="int32"):
    yield {"input": R(T, 4, 3, 2), "seq_lengths": I(5, 3, dtype=Tlen), "seq_dim": 0, "batch_dim": 1}
    yield {"input": R(T, 3, 4), "seq_lengths": I(5, 3, dtype=Tlen), "seq_dim": 1, "batch_dim": 0}


@ops("Roll")
def _(T, Tshift="int32", Taxis="int32"):
    yield {"input": R(T, 3, 4), "shift": I(5, 2, dtype=Tshift, low=-4), "axis": C([0, 1], Taxis)}


@ops("BroadcastTo")
def _(T, Tidx="int32"):
    yield {"input": R(T, 3, 1), "shape": C([2, 3, 4], Tidx)}


@ops("Fill")
def _(T, index_type="int32"):
    yield {"dims": C([2, 3], index_type), "value": R(T)}


@ops("OneHot")
def _(T, TI="int32"):
    for axis in (-1, 0):
        yield {"indices": I(6, 2, 3, dtype=TI), "depth": C(5), "on_value": R(T), "off_value": R(T), "axis": axis}


@ops("Range")
def _(Tidx):
    if Tidx not in ("float16", "bfloat16"):  # TensorFlow's shape inference refuses them as constants
        yield {"start": C(2, Tidx), "limit": C(11, Tidx), "delta": C(3, Tidx)}


@ops("LinSpace")
def _(T, Tidx="int32"):
    yield {"start": R(T, low=0, high=1), "stop": R(T, low=2, high=3), "num": C(5, Tidx)}


@ops("Shape Size")
def _(T, out_type="int32"):
    yield {"input": R(T, 2, 3), "out_type": out_type}


@ops("ShapeN")
def _(T, out_type="int32"):
    yield {"input": [R(T, 2, 3), R(T, 4)], "out_type": out_type}


@ops("Rank")
def _(T):
    yield {"input": R(T, 2, 3)}


@ops("BroadcastArgs BroadcastGradientArgs")
def _(T):
    yield {"s0": C([2, 1, 4], T), "s1": C([3, 1], T)}


@ops("ConcatOffset")
def _(shape_type="int32"):
    yield {"concat_dim": C(1), "shape": [C([2, 3], shape_type), C([2, 1], shape_type)]}


@ops("InvertPermutation")
def _(T):
    yield {"x": np.array([2, 0, 3, 1], T)}


@ops("Gather")
def _(Tparams, Tindices="int32"):
    yield {"params": R(Tparams, 4, 3), "indices": I(4, 2, 2, dtype=Tindices)}


@ops("GatherV2")
def _(Tparams, Tindices="int32", Taxis="int32"):
    yield {"params": R(Tparams, 4, 3, 2), "indices": I(3, 2, 2, dtype=Tindices), "axis": C(1, Taxis)}
    yield {"params": R(Tparams, 2, 4, 3), "indices": I(3, 2, 2, dtype=Tindices), "axis": C(2, Taxis), "batch_dims": 1}
    yield {"params": R(Tparams, 2, 4, 3), "indices": I(3, 2, 4, dtype=Tindices), "axis": C(-1, Taxis), "batch_dims": 2}


@ops("GatherNd")
def _(Tparams, Tindices="int32"):
    yield {"params": R(Tparams, 3, 3, 2), "indices": I(3, 4, 2, dtype=Tindices)}


@ops("ScatterNd")
def _(T, Tindices="int32"):
    if Tindices != "int16":
        yield {"indices": I(4, 3, 1, dtype=Tindices), "updates": R(T, 3, 2), "shape": C([4, 2], Tindices)}


@ops("TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin")
def _(T, Tindices="int32"):
    if Tindices != "int16" and T != "bool":  # XLA ends the process on differences of bools
        yield {"tensor": R(T, 4, 2), "indices": I(4, 3, 1, dtype=Tindices), "updates": R(T, 3, 2)}


@ops("TensorScatterUpdate")
def _(T, Tindices="int32"):
    if Tindices != "int16":
        yield {"tensor": R(T, 4, 2), "indices": np.array([[3], [0]], Tindices), "updates": R(T, 2, 2)}


@ops("DynamicStitch ParallelDynamicStitch")
def _(T):
    yield {"indices": [C([3, 0]), C([[1, 2], [5, 4]])], "data": [R(T, 2, 3), R(T, 2, 2, 3)]}


@ops("Diag")
def _(T):
    yield {"diagonal": R(T, 2, 3)}


@ops("DiagPart")
def _(T):
    yield {"input": R(T, 2, 3, 2, 3)}


@ops("MatrixDiag")
def _(T):
    yield {"diagonal": R(T, 2, 3)}


@ops("MatrixDiagPart")
def _(T):
    yield {"input": R(T, 2, 3, 4)}


@ops("MatrixSetDiag")
def _(T):
    yield {"input": R(T, 2, 3, 4), "diagonal": R(T, 2, 3)}


BANDS = [(0, 0), (1, 1), (-1, 2), (-2, -1)]
ALIGN = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]


def band_shape(low, high, rows, cols):
    longest = min(rows + min(high, 0), cols - max(low, 0))
    return ([] if low == high else [high - low + 1]) + [longest]


def band_options(v3):
    for n, band in enumerate(BANDS):
        yield band, ({"align": ALIGN[n]} if v3 else {})


def diag_v(v3):
    def calls(T):
        for (low, high), more in band_options(v3):
            yield dict({"diagonal": R(T, 2, *band_shape(low, high, 4, 5)), "k": C([low, high]), "num_rows": C(4),
                        "num_cols": C(5),
                        "padding_value": R(T)}, **more)
    return calls


def diag_part_v(v3):
    def calls(T):
        for (low, high), more in band_options(v3):
            yield dict({"input": R(T, 2, 4, 5), "k": C([low, high]), "padding_value": R(T)}, **more)
    return calls


def set_diag_v(v3):
    def calls(T):
        for (low, high), more in band_options(v3):
            yield dict({"input": R(T, 2, 4, 5), "diagonal": R(T, 2, *band_shape(low, high, 4, 5)), "k": C([low, high])},
                       **more)
    return calls


for version in (2, 3):
    OPS["MatrixDiagV%d" % version] = diag_v(version == 3)
    OPS["MatrixDiagPartV%d" % version] = diag_part_v(version == 3)
    OPS["MatrixSetDiagV%d" % version] = set_diag_v(version == 3)


@ops("MatrixBandPart")
def _(T, Tindex="int32"):
    for low, high in ((1, 0), (-1, 1), (0, -1)):
        yield {"input": R(T, 2, 4, 5), "num_lower": C(low, Tindex), "num_upper": C(high, Tindex)}


@ops("SpaceToDepth DepthToSpace")
def _(T):
    for data_format, shape in (("NHWC", (2, 4, 6, 8)), ("NCHW", (2, 8, 4, 6))):
        yield {"input": R(T, *shape), "block_size": 2, "data_format": data_format}


@ops("SpaceToBatch")
def _(T, Tpaddings="int32"):
    yield {"input": R(T, 2, 3, 4, 2), "paddings": C([[1, 0], [0, 0]], Tpaddings), "block_size": 2}


@ops("BatchToSpace")
def _(T, Tidx="int32"):
    yield {"input": R(T, 8, 3, 2, 2), "crops": C([[1, 0], [0, 1]], Tidx), "block_size": 2}


@ops("SpaceToBatchND")
def _(T, Tblock_shape="int32", Tpaddings="int32"):
    yield {"input": R(T, 2, 4, 5, 2), "block_shape": C([2, 3], Tblock_shape),
           "paddings": C([[0, 0], [1, 0]], Tpaddings)}


@ops("BatchToSpaceND")
def _(T, Tblock_shape="int32", Tcrops="int32"):
    yield {"input": R(T, 12, 4, 5, 2), "block_shape": C([2, 3], Tblock_shape), "crops": C([[0, 1], [1, 0]], Tcrops)}


@ops("ExtractImagePatches")
def _(T):
    for padding in ("VALID", "SAME"):
        yield {"images": R(T, 2, 7, 6, 2), "ksizes": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1],
               "padding": padding}


@ops("DataFormatDimMap")
def _(T):
    yield {"x": I(4, 5, dtype=T, low=-4), "src_format": "NHWC", "dst_format": "NCHW"}


@ops("DataFormatVecPermute")
def _(T):
    yield {"x": R(T, 4), "src_format": "NHWC", "dst_format": "NCHW"}


@ops("SparseToDense")
def _(T, Tindices="int32"):
    yield {"sparse_indices": np.array([[0, 1], [2, 3]], Tindices), "output_shape": C([3, 4], Tindices),
           "sparse_values": R(T, 2),
           "default_value": R(T)}


@ops("ToBool")
def _(T):
    yield {"input": R(T)}
    yield {"input": R(T, 3)}


@ops("Cross")
def _(T):
    yield {"a": R(T, 2, 3), "b": R(T, 2, 3)}
