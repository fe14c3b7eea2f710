"""Random calls of TensorFlow's random numbers whose bits are defined, and results whose sizes depend on data for
check_tf_ops.py; rows of OPS as in tf_op_calls.py."""
import numpy as np

from tf_op_calls import C, I, OPS, R, ops


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


@ops("Unique UniqueWithCounts")
def _(T, out_idx="int32"):
    yield {"x": R(T, 9), "out_idx": out_idx}


@ops("UniqueV2 UniqueWithCountsV2")
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
