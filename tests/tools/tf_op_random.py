"""Programs for check_tf_ops.py, as in tf_op_program.py: random numbers, quantised types, fused operations."""
import itertools

import numpy as np
import tensorflow as tf

from tf_op_inputs import I, R, ops
from tf_op_program import P, after, raw, read, variable


# --- random numbers: of those whose bits are not defined the type, sizes and bounds ---
def bounds(x, low, high):
    wide = tf.cast(x, tf.float64)
    mean = tf.reduce_mean(wide)
    return [tf.shape(x), tf.reduce_all((wide >= low) & (wide <= high)), (mean > low) & (mean < high),
            tf.reduce_min(wide) < tf.reduce_max(wide)]


@ops("RandomUniform RandomStandardNormal TruncatedNormal")
def _(dtype, T="int32"):
    def step(x):
        shape = tf.constant([40, 25], T)
        return [bounds(raw.RandomUniform(shape=shape, dtype=dtype), 0, 1),
                bounds(raw.RandomStandardNormal(shape=shape, dtype=dtype), -9, 9),
                bounds(raw.TruncatedNormal(shape=shape, dtype=dtype), -2.01, 2.01), x]
    yield P(step, I(4, 2))


@ops("RandomUniformInt")
def _(Tout, T="int32"):
    yield P(lambda a, b: bounds(raw.RandomUniformInt(shape=tf.constant([40, 5], T), minval=a, maxval=b), -3, 7),
            np.asarray(-3, Tout), np.asarray(8, Tout))


@ops("ParameterizedTruncatedNormal")
def _(dtype, T="int32"):
    yield P(lambda m, d, a, b: bounds(raw.ParameterizedTruncatedNormal(shape=tf.constant([3, 400], T), means=m,
                                                                       stdevs=d, minvals=a, maxvals=b), -1, 2),
            *[np.asarray(v, tf.as_dtype(dtype).as_numpy_dtype) for v in ([0.5] * 3, [1] * 3, [-1] * 3, [2] * 3)])


@ops("StatelessParameterizedTruncatedNormal")
def _(dtype, S="int32", Tseed="int32"):
    yield P(lambda s, m, d, a, b: bounds(raw.StatelessParameterizedTruncatedNormal(shape=tf.constant([400, 3], S),
                                                                                   seed=s, means=m, stddevs=d,
                                                                                   minvals=a,
                                                                                   maxvals=b), -1, 2),
            I(99, 2, dtype=Tseed), *[np.asarray(v, tf.as_dtype(dtype).as_numpy_dtype) for v in (0.5, 1, -1, 2)])


@ops("StatelessTruncatedNormal")
def _(dtype, T="int32", Tseed="int32"):
    yield P(lambda s: bounds(raw.StatelessTruncatedNormal(shape=tf.constant([40, 25], T), seed=s, dtype=dtype), -2.01,
                             2.01), I(99, 2, dtype=Tseed))


@ops("StatelessTruncatedNormalV2")
def _(dtype, Tshape="int32"):
    yield P(lambda k, c: bounds(raw.StatelessTruncatedNormalV2(shape=tf.constant([40, 25], Tshape), key=k, counter=c,
                                                               alg=tf.constant(1), dtype=dtype),
                                -2.01, 2.01), I(2 ** 40, 1, dtype=np.uint64), I(2 ** 40, 2, dtype=np.uint64))


@ops("Multinomial")
def _(T, output_dtype="int64"):
    yield P(lambda x: bounds(raw.Multinomial(logits=x, num_samples=200, output_dtype=output_dtype), 0, 4), R(T, 3, 5))


@ops("RandomShuffle")
def _(T):
    yield P(lambda x: tf.reduce_sum(tf.cast(raw.RandomShuffle(value=x), tf.float64)),
            R(T, 8)) if not tf.as_dtype(T).is_complex else P(
        lambda x: tf.shape(raw.RandomShuffle(value=x)), R(T, 8))


def is_size(dtype):
    return dtype in ("int32", "int64")


def generator(draw):
    """Philox: its state is a variable of counter and key, whose bits are defined."""
    def step(state):
        handle, done = variable(state)
        with after(done):
            first = draw(handle)
        with after(*tf.nest.flatten(first)):
            return tf.nest.flatten(first) + [raw.ReadVariableOp(resource=handle, dtype=tf.int64)]
    return P(step, I(2 ** 40, 3, dtype=np.int64))


ALGORITHM = np.int64(1)


@ops("StatefulUniform StatefulStandardNormalV2 StatefulTruncatedNormal")
def _(dtype, shape_dtype="int64"):
    if not is_size(shape_dtype):
        return
    shape = lambda: tf.constant([3, 5], shape_dtype)
    yield generator(lambda h: raw.StatefulUniform(resource=h, algorithm=ALGORITHM, shape=shape(), dtype=dtype))
    yield generator(lambda h: raw.StatefulStandardNormalV2(resource=h, algorithm=ALGORITHM, shape=shape(), dtype=dtype))
    yield generator(lambda h: bounds(raw.StatefulTruncatedNormal(resource=h, algorithm=ALGORITHM, shape=shape(),
                                                                 dtype=dtype), -2.01, 2.01))


@ops("StatefulUniformInt")
def _(dtype, shape_dtype="int64"):
    if is_size(shape_dtype):
        yield generator(lambda h: raw.StatefulUniformInt(resource=h, algorithm=ALGORITHM,
                                                         shape=tf.constant([3, 5], shape_dtype),
                                                         minval=tf.constant(-3, dtype), maxval=tf.constant(8, dtype)))


@ops("StatefulUniformFullInt")
def _(dtype, shape_dtype="int64"):
    if is_size(shape_dtype):
        yield generator(lambda h: raw.StatefulUniformFullInt(resource=h, algorithm=ALGORITHM,
                                                             shape=tf.constant([3, 5], shape_dtype), dtype=dtype))


@ops("RngReadAndSkip")
def _():
    yield generator(lambda h: raw.RngReadAndSkip(resource=h, alg=1, delta=tf.constant(7, tf.uint64)))


@ops("RngSkip")
def _():
    def step(state):
        handle, done = variable(state)
        with after(done):
            skipped = raw.RngSkip(resource=handle, algorithm=ALGORITHM, delta=np.int64(7))
        return read(handle, tf.int64, skipped)
    yield P(step, I(2 ** 40, 3, dtype=np.int64))


# --- quantised types: the bits of arrays of integers ---
LIMITS = {"qint8": (-128, 127), "qint32": (-2 ** 31, 2 ** 31 - 1)}
BITS = {"qint8": tf.int8, "qint32": tf.int32}


def limits(T, prefix=""):
    return {prefix + "quantization_min_val": LIMITS[T][0], prefix + "quantization_max_val": LIMITS[T][1]}


def bits(x):
    return tf.bitcast(x, BITS[x.dtype.name])


@ops("UniformQuantize")
def _():
    for T, scale in (("qint8", 0.03), ("qint32", 1e-4)):
        yield P(lambda x, T=T, scale=scale: bits(raw.UniformQuantize(input=x, scales=scale, zero_points=3, Tout=T,
                                                                     **limits(T))), R("float32", 3, 4))
        yield P(lambda x, T=T: bits(raw.UniformQuantize(input=x, scales=[0.1, 0.2, 0.4], zero_points=[0, 1, 2], Tout=T,
                                                        quantization_axis=0,
                                                        **limits(T))), R("float32", 3, 4))


@ops("UniformDequantize")
def _():
    for T in LIMITS:
        yield P(lambda x, T=T: raw.UniformDequantize(input=tf.bitcast(x, T), scales=0.02, zero_points=2,
                                                     Tout=tf.float32, **limits(T)),
                I(90, 3, 4, dtype=BITS[T].as_numpy_dtype, low=-90))


@ops("UniformRequantize")
def _():
    for a, b in itertools.product(LIMITS, repeat=2):
        yield P(lambda x, a=a, b=b: bits(raw.UniformRequantize(input=tf.bitcast(x, a), input_scales=0.03,
                                                               input_zero_points=3, output_scales=0.05,
                                                               output_zero_points=-2, Tout=b, **limits(a, "input_"),
                                                               **limits(b, "output_"))),
                I(90, 3, 4, dtype=BITS[a].as_numpy_dtype, low=-90))


@ops("UniformQuantizedAdd UniformQuantizedClipByValue")
def _():
    q = lambda x: tf.bitcast(x, tf.qint32)
    every = {k: v for p in ("lhs_", "rhs_", "output_") for k, v in limits("qint32", p).items()}

    def step(x, y):
        total = raw.UniformQuantizedAdd(lhs=q(x), rhs=q(y), lhs_scales=1e-3, lhs_zero_points=7, rhs_scales=2e-3,
                                        rhs_zero_points=1, output_scales=2e-3,
                                        output_zero_points=-3, **every)
        clipped = raw.UniformQuantizedClipByValue(operand=q(x), min=q(tf.constant(-500)), max=q(tf.constant(900)),
                                                  scales=1e-3, zero_points=7,
                                                  **limits("qint32"))
        return [bits(total), bits(clipped)]
    yield P(step, I(3000, 3, 4, low=-3000), I(3000, 4, low=-3000))


@ops("UniformQuantizedDot UniformQuantizedConvolution")
def _():
    q = lambda x: tf.bitcast(x, tf.qint8)
    every = dict(limits("qint8", "lhs_"), **limits("qint8", "rhs_"), **limits("qint32", "output_"))
    scales = dict(lhs_scales=0.02, lhs_zero_points=2, rhs_scales=0.01, output_scales=0.001, output_zero_points=5,
                  Tout=tf.qint32)

    def step(x, y):
        image, kernel = tf.reshape(q(x), [1, 2, 3, 2]), tf.reshape(q(y), [5, 2, 2, 1])
        return [bits(raw.UniformQuantizedDot(lhs=q(x), rhs=q(y), rhs_zero_points=-1, **scales, **every)),
                bits(raw.UniformQuantizedConvolution(lhs=image, rhs=kernel, rhs_zero_points=0, padding="SAME",
                                                     window_strides=[1, 1], **scales,
                                                     **every))]
    yield P(step, I(128, 3, 4, dtype=np.int8, low=-128), I(128, 4, 5, dtype=np.int8, low=-128))


# --- fused operations of TensorFlow's own passes ---
@ops("_FusedConv2D _FusedBatchNormEx")
def _():
    from tensorflow.python.framework.op_def_library import apply_op

    def step(x, k, b):
        results = []
        for parts, args in [(["BiasAdd"], [b]), (["BiasAdd", "Relu"], [b]),
                            (["FusedBatchNorm", "Relu6"], [b, b * b, b - 1, b * b + 1])]:
            results.append(apply_op("_FusedConv2D", name="conv", input=x, filter=k, args=args, host_args=[],
                                    num_args=len(args), explicit_paddings=[],
                                    data_format="NHWC", filter_format="HWIO", dilations=[1, 1, 1, 1],
                                    use_cudnn_on_gpu=False, leakyrelu_alpha=0.2,
                                    strides=[1, 2, 1, 1], padding="SAME", fused_ops=parts, epsilon=0.01))
        return results
    yield P(step, R("float32", 2, 6, 8, 4), R("float32", 3, 2, 4, 6), R("float32", 6))


@ops("_UnaryOpsComposition")
def _(T):
    from tensorflow.python.framework.op_def_library import apply_op
    yield P(lambda x: apply_op("_UnaryOpsComposition", name="composed", x=x, op_names=["Tanh", "Square", "Neg"]),
            R(T, 3, 4))
