"""Random calls of TensorFlow's reductions, segments and searches for check_tf_ops.py; rows of OPS as in
tf_op_calls.py."""
import itertools

import numpy as np

from tf_op_calls import C, I, R, ops


# --- reductions ---
@ops("Sum Prod Max Min Mean EuclideanNorm")
def _(T, Tidx="int32"):
    for axes, keep in (([0, 2], False), ([-1], True), ([], False), (1, False)):
        yield {"input": R(T, 2, 3, 4, low=-1.3, high=1.3), "axis": C(axes, Tidx), "keep_dims": keep}


@ops("All Any")
def _(Tidx="int32"):
    for axes, keep in (([0, 2], False), ([-1], True)):
        yield {"input": R("bool", 2, 3, 4), "axis": C(axes, Tidx), "keep_dims": keep}


@ops("ArgMax ArgMin")
def _(T, Tidx="int32", output_type="int64"):
    for axis in (0, -1, 1) if Tidx != "int16" else ():  # TensorFlow's shape inference reads it as int64
        yield {"input": R(T, 3, 4, 2), "dimension": C(axis, Tidx), "output_type": output_type}


@ops("Cumsum Cumprod")
def _(T, Tidx="int32"):
    for exclusive, reverse in itertools.product((False, True), repeat=2):
        yield {"x": R(T, 2, 5, low=-1.3, high=1.3), "axis": C(1 - exclusive, Tidx), "exclusive": exclusive,
               "reverse": reverse}


@ops("CumulativeLogsumexp")
def _(T, Tidx="int32"):
    for exclusive, reverse in itertools.product((False, True), repeat=2):
        yield {"x": R(T, 2, 5), "axis": C(1, Tidx), "exclusive": exclusive, "reverse": reverse}


@ops("L2Loss")
def _(T):
    yield {"t": R(T, 3, 4)}


@ops("UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin")
def _(T, Tindices="int32", Tnumsegments="int32"):
    yield {"data": R(T, 5, 2), "segment_ids": I(4, 5, dtype=Tindices, low=-1), "num_segments": C(4, Tnumsegments)}
    yield {"data": R(T, 2, 3, 2), "segment_ids": I(3, 2, 3, dtype=Tindices), "num_segments": C(3, Tnumsegments)}


@ops("SegmentSumV2 SegmentProdV2 SegmentMaxV2 SegmentMinV2")
def _(T, Tindices="int32", Tnumsegments="int32"):
    yield {"data": R(T, 5, 2), "segment_ids": np.sort(I(3, 5, dtype=Tindices)), "num_segments": C(4, Tnumsegments)}


@ops("SegmentSum SegmentProd SegmentMax SegmentMin SegmentMean")
def _(T, Tindices="int32"):
    yield {"data": R(T, 6, 2), "segment_ids": C([0, 0, 1, 3, 3, 3], Tindices)}


@ops("Bincount")
def _(T):
    yield {"arr": I(5, 9), "size": C(5), "weights": R(T, 9)}


@ops("DenseBincount")
def _(T, Tidx="int32"):
    for shape, flag in (((9,), False), ((2, 6), True), ((2, 6), False)):
        yield {"input": I(6, *shape, dtype=Tidx), "size": C(5, Tidx), "weights": R(T, *shape), "binary_output": flag}


@ops("Bucketize")
def _(T):
    yield {"input": R(T, 3, 4), "boundaries": [-1.0, 0.5, 1.25]}


@ops("LowerBound UpperBound")
def _(T, out_type="int32"):
    yield {"sorted_inputs": np.sort(R(T, 2, 6), -1), "values": R(T, 2, 3), "out_type": out_type}


@ops("TopKV2")
def _(T, Tk="int32", index_type="int32"):
    yield {"input": R(T, 3, 7), "k": C(3, Tk), "sorted": True, "index_type": index_type}


@ops("InTopKV2")
def _(T):
    yield {"predictions": R("float32", 4, 6), "targets": I(6, 4, dtype=T), "k": C(3, T)}
