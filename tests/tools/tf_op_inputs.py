"""Random calls of TensorFlow's operations for check_tf_ops.py: OPS maps a name to a function that gets the types of the
type attributes and yields dicts of raw_ops' arguments. Arrays become placeholders; what is in C(...) becomes a
constant, as sizes and axes must be; anything else is an attribute."""
import itertools

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(23)
OPS = {}


class C:
    """A compile-time constant."""
    def __init__(self, value, dtype=np.int32):
        self.value = np.asarray(value, dtype)


def ops(names):
    def register(function):
        for name in names.split():
            OPS[name] = function
        return function
    return register


def R(dtype, *shape, low=-2.0, high=2.0):
    """Random numbers of a type, integers from -6 to 6 for wide ranges."""
    d = tf.as_dtype(dtype)
    if d.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if d.is_complex:
        part = rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
        return np.asarray(part, d.as_numpy_dtype)
    if d.is_integer or d.is_quantized:
        least = 0 if d.is_unsigned or low >= 0 else int(3 * low)
        return np.asarray(rng.integers(least, max(int(3 * high), least + 2), shape), d.as_numpy_dtype)
    return np.asarray(rng.uniform(low, high, shape), d.as_numpy_dtype)


def I(high, *shape, dtype=np.int32, low=0):
    return rng.integers(low, high, shape).astype(dtype)


DOMAINS = {"Acosh": (1.1, 3), "Acos": (-0.9, 0.9), "Asin": (-0.9, 0.9), "Atanh": (-0.9, 0.9), "Erfinv": (-0.9, 0.9),
           "Log": (0.1, 3), "Sqrt": (0.1, 3), "Rsqrt": (0.1, 3), "Lgamma": (0.1, 6), "Digamma": (0.1, 6), "Ndtri": (0.05, 0.95),
           "Log1p": (-0.5, 3), "Inv": (0.3, 2), "Reciprocal": (0.3, 2)}


def unary(name):
    low, high = DOMAINS.get(name, (-2, 2))

    def calls(T):
        yield {"x": R(T, 3, 4, low=low, high=high)}
        yield {"x": R(T, low=low, high=high)}
    return calls


for name in ("Abs Acos Acosh Asin Asinh Atan Atanh BesselI0e BesselI1e Ceil Cos Cosh Digamma Erf Erfc Erfinv Exp Expm1 Floor Inv "
             "Invert IsFinite IsInf IsNan Lgamma Log Log1p Ndtri Neg OnesLike PopulationCount Reciprocal Rint Round Rsqrt Sigmoid "
             "Sign Sin Sinh Sqrt Square Tan Tanh ZerosLike").split():
    OPS[name] = unary(name)


@ops("Elu Relu Relu6 Selu Softplus Softsign LeakyRelu")
def _(T):
    yield {"features": R(T, 3, 4, high=3)}


@ops("EluGrad SeluGrad")
def _(T):
    yield {"gradients": R(T, 3, 4), "outputs": R(T, 3, 4, low=-0.9)}


@ops("ReluGrad Relu6Grad SoftplusGrad SoftsignGrad LeakyReluGrad")
def _(T):
    yield {"gradients": R(T, 3, 4), "features": R(T, 3, 4, high=4)}


@ops("SigmoidGrad TanhGrad SqrtGrad RsqrtGrad ReciprocalGrad")
def _(T):
    yield {"y": R(T, 3, 4, low=0.2, high=0.9), "dy": R(T, 3, 4)}


@ops("Conj Imag Real Angle")
def _(T, Tout=None):
    if Tout in (None, {"complex64": "float32", "complex128": "float64"}.get(T)):
        yield dict({"input": R(T, 3, 4)}, **({"Tout": Tout} if Tout else {}))


@ops("ComplexAbs")
def _(T, Tout):
    if Tout == {"complex64": "float32", "complex128": "float64"}[T]:
        yield {"x": R(T, 3, 4), "Tout": Tout}


@ops("Complex")
def _(T, Tout):
    if T == {"complex64": "float32", "complex128": "float64"}[Tout]:
        yield {"real": R(T, 3, 4), "imag": R(T, 3, 4), "Tout": Tout}


@ops("Identity Snapshot StopGradient PreventGradient")
def _(T):
    yield {"input": R(T, 3, 4)}


@ops("CheckNumerics")
def _(T):
    yield {"tensor": R(T, 3), "message": "none"}


@ops("EnsureShape")
def _(T):
    yield {"input": R(T, 3, 4), "shape": tf.TensorShape([3, None])}


@ops("Cast")
def _(SrcT, DstT):
    low = 0 if tf.as_dtype(DstT).is_unsigned else -2
    yield {"x": R(SrcT, 7, low=low, high=3), "DstT": DstT}


@ops("Bitcast")
def _(T, type):
    a, b = tf.as_dtype(T).size, tf.as_dtype(type).size
    if a == b:
        yield {"input": R(T, 4, 3), "type": type}
    elif a > b:
        yield {"input": R(T, 4), "type": type}
    elif b % a == 0:
        yield {"input": R(T, 3, b // a, low=0), "type": type}


def binary(*keys, **options):
    def calls(T):
        for a, b in (((2, 1, 4), (3, 1)), ((3, 4), ()), ((4,), (4,))):
            yield {keys[0]: R(T, *a, **options), keys[1]: R(T, *b, **options)}
    return calls


for name in ("Add AddV2 Sub Mul Maximum Minimum SquaredDifference Equal NotEqual Less LessEqual Greater GreaterEqual BitwiseAnd "
             "BitwiseOr BitwiseXor MulNoNan DivNoNan").split():
    OPS[name] = binary("x", "y")
for name in "Xdivy Xlogy Xlog1py NextAfter".split():
    OPS[name] = binary("x", "y", low=0.2)
OPS["Atan2"] = binary("y", "x")


@ops("Div RealDiv FloorDiv FloorMod Mod TruncateDiv TruncateMod")
def _(T):
    for a, b in (((2, 1, 4), (3, 1)), ((3, 4), ())):
        x, y = R(T, *a), R(T, *b)
        yield {"x": x, "y": np.where(y == 0, np.ones_like(y), y).astype(y.dtype)}


@ops("Pow")
def _(T):
    yield {"x": R(T, 3, 4, low=0.3), "y": R(T, 4, low=0 if tf.as_dtype(T).is_integer else -2)}


@ops("LeftShift RightShift")
def _(T):
    yield {"x": R(T, 3, 4), "y": R(T, 4, low=0, high=1.5)}


@ops("LogicalAnd LogicalOr")
def _():
    yield {"x": R("bool", 2, 1, 4), "y": R("bool", 3, 1)}


@ops("LogicalNot")
def _():
    yield {"x": R("bool", 3, 4)}


@ops("ApproximateEqual")
def _(T):
    x = R(T, 3, 4)
    if x.dtype.fields:  # of quantised types NumPy has no arithmetic
        yield {"x": x, "y": np.roll(x, 1), "tolerance": 0.01}
    else:
        yield {"x": x, "y": (x + R(T, 3, 4) * np.asarray(0.01, x.dtype)).astype(x.dtype), "tolerance": 0.01}


@ops("Igamma Igammac IgammaGradA")
def _(T):
    yield {"a": R(T, 3, 4, low=0.2, high=5), "x": R(T, 3, 4, low=0.2, high=5)}


@ops("RandomGammaGrad")
def _(T):
    yield {"alpha": R(T, 3, 4, low=0.2, high=5), "sample": R(T, 3, 4, low=0.2, high=5)}


@ops("Betainc")
def _(T):
    yield {"a": R(T, 3, low=0.3, high=4), "b": R(T, 3, low=0.3, high=4), "x": R(T, 3, low=0.1, high=0.9)}


@ops("Zeta")
def _(T):
    yield {"x": R(T, 3, low=1.3, high=5), "q": R(T, 3, low=0.3, high=4)}


@ops("Polygamma")
def _(T):
    yield {"a": np.asarray([0, 1, 3], tf.as_dtype(T).as_numpy_dtype), "x": R(T, 3, low=0.5, high=4)}


@ops("AddN")
def _(T):
    yield {"inputs": [R(T, 3, 4) for _ in range(3)]}


@ops("Select")
def _(T):
    yield {"condition": R("bool", 3, 4), "x": R(T, 3, 4), "y": R(T, 3, 4)}
    yield {"condition": R("bool", 3), "x": R(T, 3, 4), "y": R(T, 3, 4)}


@ops("SelectV2")
def _(T):
    yield {"condition": R("bool", 3, 1), "t": R(T, 4), "e": R(T, 2, 1, 1)}


@ops("ClipByValue")
def _(T):
    yield {"t": R(T, 3, 4), "clip_value_min": R(T, low=0, high=0.3), "clip_value_max": R(T, low=1, high=1.5)}


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
        yield {"x": R(T, 2, 5, low=-1.3, high=1.3), "axis": C(1 - exclusive, Tidx), "exclusive": exclusive, "reverse": reverse}


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
            yield dict({"diagonal": R(T, 2, *band_shape(low, high, 4, 5)), "k": C([low, high]), "num_rows": C(4), "num_cols": C(5),
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
            yield dict({"input": R(T, 2, 4, 5), "diagonal": R(T, 2, *band_shape(low, high, 4, 5)), "k": C([low, high])}, **more)
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
    yield {"input": R(T, 2, 4, 5, 2), "block_shape": C([2, 3], Tblock_shape), "paddings": C([[0, 0], [1, 0]], Tpaddings)}


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
    yield {"sparse_indices": np.array([[0, 1], [2, 3]], Tindices), "output_shape": C([3, 4], Tindices), "sparse_values": R(T, 2),
           "default_value": R(T)}


@ops("ToBool")
def _(T):
    yield {"input": R(T)}
    yield {"input": R(T, 3)}


@ops("Cross")
def _(T):
    yield {"a": R(T, 2, 3), "b": R(T, 2, 3)}


# --- products ---
@ops("MatMul")
def _(T):
    for a, b in itertools.product((False, True), repeat=2):
        yield {"a": R(T, *((4, 3) if a else (3, 4))), "b": R(T, *((5, 4) if b else (4, 5))), "transpose_a": a, "transpose_b": b}


@ops("SparseMatMul")
def _(Ta, Tb):
    yield {"a": R(Ta, 4, 3), "b": R(Tb, 4, 5), "transpose_a": True}


@ops("BatchMatMul BatchMatMulV2")
def _(T):
    for a, b in ((False, False), (True, False), (False, True)):
        yield {"x": R(T, 2, *((4, 3) if a else (3, 4))), "y": R(T, 2, *((5, 4) if b else (4, 5))), "adj_x": a, "adj_y": b}


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
    yield {"input": R(T, 2, 5, 6, 4, 4), "filter": R(T, 2, 2, 2, 2, 6), "strides": [1, 1, 2, 1, 1], "padding": "VALID", "groups": 2}


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
    yield dict(orig_input=R(T, *shape), orig_output="MaxPool" if len(shape) == 4 else "MaxPool3D", grad=R(T, *shape), **options)


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
OPS["AvgPoolGrad"] = pool_calls(4, (7, 8), lambda T, shape, out, o: [dict(orig_input_shape=C(shape), grad=R(T, *out), **o)])
OPS["AvgPool3DGrad"] = pool_calls(5, (5, 6, 4), lambda T, shape, out, o: [dict(orig_input_shape=C(shape), grad=R(T, *out), **o)])
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
    for training, data_format, shape in ((True, "NHWC", (2, 3, 4, 5)), (False, "NHWC", (2, 3, 4, 5)), (True, "NCHW", (2, 5, 3, 4))):
        yield {"x": R(T, *shape), "scale": R(U, 5), "offset": R(U, 5), "mean": R(U, 5), "variance": R(U, 5, low=0.5),
               "epsilon": 0.01, "is_training": training, "data_format": data_format, "exponential_avg_factor": 0.9 if training else 1.0}


def norm_grads(T, U, more):
    for training, data_format, shape in ((True, "NHWC", (2, 3, 4, 5)), (False, "NHWC", (2, 3, 4, 5)), (True, "NCHW", (2, 5, 3, 4))):
        call = {"y_backprop": R(T, *shape), "x": R(T, *shape), "scale": R("float32", 5), "reserve_space_1": R(U, 5, low=-0.2, high=0.2),
                "reserve_space_2": R(U, 5, low=0.5), "epsilon": 0.01, "is_training": training, "data_format": data_format}
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


# --- quantisation ---
@ops("FakeQuantWithMinMaxArgs")
def _():
    for bits, narrow in ((8, False), (4, True)):
        yield {"inputs": R("float32", 3, 4, high=5), "min": -1.1, "max": 3.2, "num_bits": bits, "narrow_range": narrow}


@ops("FakeQuantWithMinMaxArgsGradient")
def _():
    yield {"gradients": R("float32", 3, 4), "inputs": R("float32", 3, 4, high=5), "min": -1.1, "max": 3.2}


@ops("FakeQuantWithMinMaxVars")
def _():
    yield {"inputs": R("float32", 3, 4, high=5), "min": R("float32", low=-1.5, high=-1), "max": R("float32", low=2, high=3)}


@ops("FakeQuantWithMinMaxVarsGradient")
def _():
    yield {"gradients": R("float32", 3, 4), "inputs": R("float32", 3, 4, high=5), "min": R("float32", low=-1.5, high=-1),
           "max": R("float32", low=2, high=3)}


@ops("FakeQuantWithMinMaxVarsPerChannel")
def _():
    yield {"inputs": R("float32", 3, 4, high=5), "min": R("float32", 4, low=-1.5, high=-1), "max": R("float32", 4, low=2, high=3)}


@ops("FakeQuantWithMinMaxVarsPerChannelGradient")
def _():
    yield {"gradients": R("float32", 3, 4), "inputs": R("float32", 3, 4, high=5), "min": R("float32", 4, low=-1.5, high=-1),
           "max": R("float32", 4, low=2, high=3)}


@ops("QuantizeAndDequantizeV2")
def _(T):
    for signed, given, narrow in ((True, False, False), (True, True, True), (False, True, False)):
        yield {"input": R(T, 3, 4), "input_min": R(T, low=-1.5, high=-1), "input_max": R(T, low=1, high=2), "signed_input": signed,
               "range_given": given, "narrow_range": narrow, "num_bits": 8}


@ops("QuantizeAndDequantizeV3 QuantizeAndDequantizeV4")
def _(T):
    call = {"input": R(T, 3, 4), "input_min": R(T, low=-1.5, high=-1), "input_max": R(T, low=1, high=2)}
    yield call if False else dict(call, signed_input=True, range_given=True)


@ops("Dequantize")
def _(T, dtype="float32"):
    for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        yield {"input": R(T, 3, 4), "min_range": R("float32", low=-2, high=-1), "max_range": R("float32", low=2, high=3), "mode": mode,
               "dtype": dtype}


# --- spectra, linear algebra ---
@ops("FFT FFT2D FFT3D IFFT IFFT2D IFFT3D")
def _(Tcomplex):
    yield {"input": R(Tcomplex, 2, 4, 6, 5)}


@ops("RFFT")
def _(Treal, Tcomplex):
    yield from real_fft(Treal, Tcomplex, 1)


@ops("RFFT2D")
def _(Treal, Tcomplex):
    yield from real_fft(Treal, Tcomplex, 2)


@ops("RFFT3D")
def _(Treal, Tcomplex):
    yield from real_fft(Treal, Tcomplex, 3)


def real_fft(Treal, Tcomplex, rank):
    if (Treal == "float64") == (Tcomplex == "complex128"):
        yield {"input": R(Treal, 2, 4, 6, 8), "fft_length": C([4, 6, 8][-rank:]), "Tcomplex": Tcomplex}
        yield {"input": R(Treal, 2, 4, 6, 8), "fft_length": C([3, 5, 9][-rank:]), "Tcomplex": Tcomplex}


def inverse_real_fft(rank):
    def calls(Treal, Tcomplex):
        if (Treal == "float64") == (Tcomplex == "complex128"):
            yield {"input": R(Tcomplex, 2, 4, 6, 5), "fft_length": C([4, 6, 8][-rank:]), "Treal": Treal}
    return calls


for rank, name in ((1, "IRFFT"), (2, "IRFFT2D"), (3, "IRFFT3D")):
    OPS[name] = inverse_real_fft(rank)


def definite(T, n):
    x = R(T, 2, n, n)
    wide = x.astype(np.complex128 if tf.as_dtype(T).is_complex else np.float64)
    return (wide @ np.conj(np.swapaxes(wide, -1, -2)) + n * np.eye(n)).astype(x.dtype)


@ops("Cholesky")
def _(T):
    yield {"input": definite(T, 4)}


@ops("MatrixDeterminant LogMatrixDeterminant")
def _(T):
    yield {"input": R(T, 2, 3, 4, 4)}
    yield {"input": R(T, 5, 5) * np.asarray([[0], [1], [1], [1], [1]], tf.as_dtype(T).as_numpy_dtype)}


@ops("Lu")
def _(T, output_idx_type):
    if not tf.as_dtype(T).is_complex:  # TensorFlow and LAPACK choose other pivots of complex numbers
        yield {"input": R(T, 2, 3, 5, 5), "output_idx_type": output_idx_type}


@ops("MatrixInverse")
def _(T):
    for adjoint in (False, True):
        yield {"input": definite(T, 4) + R(T, 2, 4, 4), "adjoint": adjoint}


@ops("MatrixSolve")
def _(T):
    for adjoint in (False, True):
        yield {"matrix": definite(T, 4) + R(T, 2, 4, 4), "rhs": R(T, 2, 4, 3), "adjoint": adjoint}


@ops("MatrixTriangularSolve")
def _(T):
    for lower, adjoint in itertools.product((False, True), repeat=2):
        yield {"matrix": definite(T, 4), "rhs": R(T, 2, 4, 3), "lower": lower, "adjoint": adjoint}


@ops("TridiagonalSolve")
def _(T):
    yield {"diagonals": R(T, 2, 3, 5) + np.array([[0], [6], [0]], tf.as_dtype(T).as_numpy_dtype), "rhs": R(T, 2, 5, 3),
           "partial_pivoting": False}


@ops("TridiagonalMatMul")
def _(T):
    yield {"superdiag": R(T, 2, 1, 5), "maindiag": R(T, 2, 1, 5), "subdiag": R(T, 2, 1, 5), "rhs": R(T, 2, 5, 3)}


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
                t = np.tile(np.array([1, 0, 0, 0, 1, 0, 0, 0], np.float32), (2, 1)) + R("float32", 2, 8, low=-0.4, high=0.4)
                t[:, [2, 5]] *= 30
                t[:, 6:] *= 0.1
                more = {"fill_value": np.float32(3)} if name.endswith("V3") else {}
                yield dict({"images": R(dtype, 2, 5, 6, 2), "transforms": t, "output_shape": C([6, 7]), "interpolation": interpolation,
                            "fill_mode": mode}, **more)
    return calls


for name in ("ImageProjectiveTransformV2", "ImageProjectiveTransformV3"):
    OPS[name] = projections(name)


@ops("ResizeNearestNeighborGrad")
def _(T):
    for options in RESIZE:
        yield dict({"grads": R(T, 2, 7, 3, 3), "size": C((4, 5))}, **options)


# --- random numbers whose bits are defined ---
def stateless(*keys):
    def calls(T="int32", Tseed="int32", dtype="float32"):
        more = {"minval": C(2, dtype), "maxval": C(11, dtype)} if "minval" in keys else {}
        yield dict({"shape": C([3, 5], T), "seed": I(99, 2, dtype=Tseed)}, **(more if more else {"dtype": dtype}))
    return calls


for name in "StatelessRandomUniform StatelessRandomNormal StatelessRandomUniformFullInt".split():
    OPS[name] = stateless()
OPS["StatelessRandomUniformInt"] = stateless("minval")


def stateless_v2(*keys):
    def calls(Tshape="int32", dtype="float32"):
        for alg in (1, 3):  # Philox; ThreeFry has no kernel of TensorFlow's CPU, and other values than XLA's
            more = {"minval": C(2, dtype), "maxval": C(11, dtype)} if "minval" in keys else {"dtype": dtype}
            yield dict({"shape": C([3, 5], Tshape), "key": I(2 ** 40, 1, dtype=np.uint64),
                        "counter": I(2 ** 40, 2, dtype=np.uint64), "alg": C(alg)}, **more)
    return calls


for name in "StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessRandomUniformFullIntV2".split():
    OPS[name] = stateless_v2()
OPS["StatelessRandomUniformIntV2"] = stateless_v2("minval")


@ops("StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg")
def _(Tseed="int32"):
    yield {"seed": I(99, 2, dtype=Tseed)}


@ops("StatelessMultinomial")
def _(T, Tseed="int32", output_dtype="int64"):
    yield {"logits": R(T, 3, 5), "num_samples": C(7), "seed": I(99, 2, dtype=Tseed), "output_dtype": output_dtype}


# --- sizes that depend on data ---
@ops("Where")
def _(T):
    yield {"condition": R(T, 3, 4)}


@ops("Unique")
def _(T, out_idx="int32"):
    yield {"x": R(T, 9), "out_idx": out_idx}


@ops("UniqueV2")
def _(T, Taxis="int32", out_idx="int32"):
    yield {"x": R(T, 9), "axis": C([0], Taxis), "out_idx": out_idx}


@ops("ListDiff")
def _(T, out_idx="int32"):
    yield {"x": R(T, 9), "y": R(T, 4), "out_idx": out_idx}


@ops("DynamicPartition")
def _(T):
    yield {"data": R(T, 7, 2), "partitions": I(3, 7), "num_partitions": 3}


@ops("NonMaxSuppressionV3")
def _(T, T_threshold):
    low = R(T, 8, 2, low=0, high=1)
    yield {"boxes": np.concatenate([low, low + R(T, 8, 2, low=0.3, high=1)], 1), "scores": R(T, 8, low=0, high=1),
           "max_output_size": C(5), "iou_threshold": C(0.4, T_threshold), "score_threshold": C(0.2, T_threshold)}


@ops("NonMaxSuppressionV4")
def _(T, T_threshold):
    for call in OPS["NonMaxSuppressionV3"](T, T_threshold):
        yield dict(call, pad_to_max_output_size=True)
