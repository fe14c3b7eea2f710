"""Random calls of TensorFlow's operations on quantised numbers for check_tf_ops.py; rows of OPS as in
tf_op_calls.py."""
from tf_op_calls import R, ops


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
    yield {"inputs": R("float32", 3, 4, high=5), "min": R("float32", low=-1.5, high=-1),
           "max": R("float32", low=2, high=3)}


@ops("FakeQuantWithMinMaxVarsGradient")
def _():
    yield {"gradients": R("float32", 3, 4), "inputs": R("float32", 3, 4, high=5),
           "min": R("float32", low=-1.5, high=-1),
           "max": R("float32", low=2, high=3)}


@ops("FakeQuantWithMinMaxVarsPerChannel")
def _():
    yield {"inputs": R("float32", 3, 4, high=5), "min": R("float32", 4, low=-1.5, high=-1),
           "max": R("float32", 4, low=2, high=3)}


@ops("FakeQuantWithMinMaxVarsPerChannelGradient")
def _():
    yield {"gradients": R("float32", 3, 4), "inputs": R("float32", 3, 4, high=5),
           "min": R("float32", 4, low=-1.5, high=-1),
           "max": R("float32", 4, low=2, high=3)}


@ops("QuantizeAndDequantizeV2")
def _(T):
    for signed, given, narrow in ((True, False, False), (True, True, True), (False, True, False)):
        yield {"input": R(T, 3, 4), "input_min": R(T, low=-1.5, high=-1), "input_max": R(T, low=1, high=2),
               "signed_input": signed,
               "range_given": given, "narrow_range": narrow, "num_bits": 8}


@ops("QuantizeAndDequantizeV3 QuantizeAndDequantizeV4")
def _(T):
    call = {"input": R(T, 3, 4), "input_min": R(T, low=-1.5, high=-1), "input_max": R(T, low=1, high=2)}
    yield call if False else dict(call, signed_input=True, range_given=True)


@ops("Dequantize")
def _(T, dtype="float32"):
    for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        yield {"input": R(T, 3, 4), "min_range": R("float32", low=-2, high=-1),
               "max_range": R("float32", low=2, high=3), "mode": mode,
               "dtype": dtype}
