"""Random calls of TensorFlow's elementwise operations for check_tf_ops.py; rows of OPS as in tf_op_calls.py."""
import numpy as np
import tensorflow as tf

from tf_op_calls import OPS, R, ops

DOMAINS = {"Acosh": (1.1, 3), "Acos": (-0.9, 0.9), "Asin": (-0.9, 0.9), "Atanh": (-0.9, 0.9), "Erfinv": (-0.9, 0.9),
           "Log": (0.1, 3), "Sqrt": (0.1, 3), "Rsqrt": (0.1, 3), "Lgamma": (0.1, 6), "Digamma": (0.1, 6),
           "Ndtri": (0.05, 0.95),
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
