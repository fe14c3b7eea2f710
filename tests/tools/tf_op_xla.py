"""Programs for check_tf_ops.py, as in tf_op_program.py: XLA's own operations with their messages, and plain ones."""
import numpy as np
import tensorflow as tf

from tf_op_inputs import I, R, definite, ops
from tf_op_functions import concrete, xla
from tf_op_program import P, after, raw, read, variable
from tf_op_variables import of_variable


# --- XLA's operations ---
def scalars(T, function, how_many=2):
    return concrete(function, *[tf.TensorSpec([], T)] * how_many)


def usable(T):
    return not tf.as_dtype(T).is_bool


def messages():
    from tensorflow.compiler.xla import xla_data_pb2
    return xla_data_pb2


@ops("XlaDot")
def _(T):
    dims = messages().DotDimensionNumbers(lhs_batch_dimensions=[0], rhs_batch_dimensions=[0],
                                          lhs_contracting_dimensions=[2],
                                          rhs_contracting_dimensions=[1]).SerializeToString()
    if usable(T):
        yield P(lambda x, y: xla().xla_dot(x, y, dims, b""), R(T, 2, 3, 4), R(T, 2, 4, 5))


@ops("XlaDotV2")
def _(LhsT):
    dims = messages().DotDimensionNumbers(lhs_contracting_dimensions=[0],
                                          rhs_contracting_dimensions=[1]).SerializeToString()
    if usable(LhsT):
        yield P(lambda x, y: xla().xla_dot_v2(x, y, dims, b"", x.dtype), R(LhsT, 4, 3), R(LhsT, 2, 4))


def convolution():
    return messages().ConvolutionDimensionNumbers(
        input_batch_dimension=0, input_feature_dimension=3, input_spatial_dimensions=[1, 2],
        kernel_input_feature_dimension=2,
        kernel_output_feature_dimension=3, kernel_spatial_dimensions=[0, 1], output_batch_dimension=2,
        output_feature_dimension=0,
        output_spatial_dimensions=[1, 3]).SerializeToString()


CONV = dict(window_strides=[2, 1], padding=[[1, 0], [0, 2]], lhs_dilation=[1, 2], rhs_dilation=[1, 1],
            feature_group_count=1)


@ops("XlaConv")
def _(T):
    if tf.as_dtype(T).is_floating:  # XLA itself ends the process for others
        yield P(lambda x, k: xla().xla_conv(x, k, dimension_numbers=convolution(), precision_config=b"", **CONV),
                R(T, 2, 5, 6, 3),
                R(T, 2, 3, 3, 4))


@ops("XlaConvV2")
def _(LhsT):
    if tf.as_dtype(LhsT).is_floating:
        yield P(lambda x, k: xla().xla_conv_v2(x, k, dimension_numbers=convolution(), precision_config=b"",
                                               batch_group_count=1,
                                               preferred_element_type=x.dtype, **CONV), R(LhsT, 2, 5, 6, 3),
                                               R(LhsT, 2, 3, 3, 4))


@ops("XlaGather")
def _(T, Tindices="int32"):
    dims = messages().GatherDimensionNumbers(offset_dims=[1, 2], collapsed_slice_dims=[1], start_index_map=[0, 1],
                                             index_vector_dim=1).SerializeToString()
    yield P(lambda x, i: xla().xla_gather(x, i, tf.constant([2, 1, 5], Tindices), dims, False), R(T, 3, 4, 5),
            I(3, 2, 2, dtype=Tindices))


@ops("XlaScatter")
def _(T, Tindices="int32"):
    dims = messages().ScatterDimensionNumbers(update_window_dims=[1], inserted_window_dims=[0, 1],
                                              scatter_dims_to_operand_dims=[0, 1],
                                              index_vector_dim=1).SerializeToString()
    if usable(T):
        yield P(lambda x, i, u: xla().xla_scatter(x, i, u, scalars(T, lambda a, b: a + b), dims, False), R(T, 3, 4, 5),
                I(3, 2, 2, dtype=Tindices), R(T, 2, 5))


@ops("XlaDynamicSlice")
def _(T, Tindices="int32"):
    yield P(lambda x, i: xla().xla_dynamic_slice(x, i, tf.constant([2, 3], Tindices)), R(T, 4, 5),
            I(3, 2, dtype=Tindices))


@ops("XlaDynamicUpdateSlice")
def _(T, Tindices="int32"):
    yield P(lambda x, u, i: xla().xla_dynamic_update_slice(x, u, i), R(T, 4, 5), R(T, 2, 2), I(3, 2, dtype=Tindices))


@ops("XlaPad")
def _(T, Tindices="int32"):
    yield P(lambda x, v: xla().xla_pad(x, v, *[tf.constant(c, Tindices) for c in ([1, -1], [0, 2], [0, 1])]),
            R(T, 4, 5), R(T))


@ops("XlaReduce")
def _(T):
    if usable(T):
        yield P(lambda x, v: xla().xla_reduce(x, v, [0, 2], scalars(T, lambda a, b: a + b)), R(T, 2, 3, 4), R(T))


@ops("XlaVariadicReduce")
def _(T):
    if usable(T):
        pair = lambda a, b, c, d: (a + c, b + d)
        yield P(lambda x, y, v: xla().xla_variadic_reduce([x, y], [v, v], [1], scalars(T, pair, 4)), R(T, 2, 3),
                R(T, 2, 3), R(T))


@ops("XlaVariadicReduceV2")
def _():
    pair = lambda a, b, c, d: (a + c, b * d)
    yield P(lambda x, y, v: xla().xla_variadic_reduce_v2([x, y], [v, v], [1], scalars("float32", pair, 4)),
            R("float32", 2, 3),
            R("float32", 2, 3), R("float32"))


@ops("XlaReduceWindow")
def _(T):
    if usable(T):
        yield P(lambda x, v: xla().xla_reduce_window(x, v, [2, 2], [1, 2], [1, 1], [2, 1], [[1, 0], [0, 1]],
                                                     scalars(T, lambda a, b: a + b)),
                R(T, 4, 5), R(T))


@ops("XlaSelectAndScatter")
def _(T):
    if usable(T) and not tf.as_dtype(T).is_complex:
        yield P(lambda x, s, v: xla().xla_select_and_scatter(x, [2, 2], [2, 2], [[0, 0], [0, 0]], s, v,
                                                             scalars(T, lambda a, b: a >= b),
                                                             scalars(T, lambda a, b: a + b)), R(T, 4, 6), R(T, 2, 3),
                                                             R(T))


@ops("XlaSort")
def _(T):
    if not tf.as_dtype(T).is_complex:
        yield P(lambda x: xla().xla_sort(x), R(T, 3, 5))


@ops("XlaKeyValueSort")
def _(K, V):
    keys = rng_permutation(K, 6)
    yield P(lambda k, v: list(xla().xla_key_value_sort(k, v)), keys, R(V, 6))


def rng_permutation(T, n):
    return np.asarray(np.random.default_rng(5).permutation(n), tf.as_dtype(T).as_numpy_dtype)


@ops("XlaVariadicSort")
def _():
    greater = lambda a, b, c, d: a > b
    yield P(lambda x, y: xla().xla_variadic_sort([x, y], 1, scalars("float32", greater, 4), True), R("float32", 3, 5),
            R("float32", 3, 5))


@ops("XlaEinsum")
def _(T):
    yield P(lambda x, y: xla().xla_einsum(x, y, "abc,acd->bad"), R(T, 2, 3, 4), R(T, 2, 4, 5))


@ops("XlaBroadcastHelper")
def _(T):
    yield P(lambda x, y: list(xla().xla_broadcast_helper(x, y, [1])), R(T, 2, 4, 3), R(T, 4))


@ops("XlaOptimizationBarrier")
def _():
    yield P(lambda x, y: xla().xla_optimization_barrier([x, y]), R("float32", 3), R("int32", 2))


@ops("XlaReducePrecision")
def _(T):
    yield P(lambda x: xla().xla_reduce_precision(x, 4, 3), R(T, 7))


@ops("XlaSharding XlaSpmdFullToShardShape XlaSpmdShardToFullShape")
def _(T):
    yield P(lambda x: xla().xla_sharding(x), R(T, 4))


@ops("XlaRngBitGenerator")
def _():
    yield P(lambda k: xla().xla_rng_bit_generator(tf.constant(1), k, [3, 5], tf.uint32)[1],
            I(2 ** 40, 3, dtype=np.uint64))


@ops("XlaSelfAdjointEig SelfAdjointEigV2")
def _(T):
    def step(x):
        values, vectors = raw.SelfAdjointEigV2(input=x)
        return [values, tf.matmul(vectors * values[..., None, :], vectors, adjoint_b=True)]
    if T in ("float32", "float64"):
        yield P(step, definite(T, 4))


@ops("XlaSvd Svd")
def _(T):
    def step(x):
        s, u, v = raw.Svd(input=x)
        return [s, tf.matmul(u * tf.cast(s[..., None, :], x.dtype), v, adjoint_b=True)]
    if T in ("float32", "float64"):  # the reference of half types has few digits
        yield P(step, R(T, 5, 3))


@ops("Qr")
def _(T):
    def step(x):
        q, r = raw.Qr(input=x)
        return [tf.matmul(q, r), tf.matmul(q, q, adjoint_a=True), tf.abs(r)]
    yield P(step, R(T, 2, 5, 3))


@ops("XlaSetBound")
def _():
    yield P(lambda x: xla().xla_set_bound(x, tf.constant(9)), np.int32(5))


@ops("XlaSetDynamicDimensionSize XlaRemoveDynamicDimensionSize")
def _(T):
    yield P(lambda x: xla().xla_remove_dynamic_dimension_size(xla().xla_set_dynamic_dimension_size(x, 0,
        tf.constant(3)), 0)[:3], R(T, 5, 2))


@ops("XlaDequantize")
def _():
    yield P(lambda x: tf.cast(xla().xla_dequantize(x, -1.5, 2.0, "MIN_COMBINED", False), tf.float32),
            I(2 ** 31, 2, 3, dtype=np.uint32))


@ops("XlaSplitND")
def _(T):
    yield P(lambda x: raw.XlaSplitND(input=x, N=4, num_splits=[2, 2]), R(T, 4, 6))


@ops("XlaConcatND")
def _(T):
    yield P(lambda *x: raw.XlaConcatND(inputs=list(x), num_concats=[2, 2]), *[R(T, 2, 3) for _ in range(4)])


@ops("ReadVariableXlaSplitND")
def _(T):
    yield P(lambda v: of_variable(lambda h, v: raw.ReadVariableXlaSplitND(resource=h, T=v.dtype, N=4,
                                                                          num_splits=[2, 2]))(T)(v), R(T, 4, 6))


@ops("AssignVariableXlaConcatND")
def _(T):
    def step(v, *parts):
        handle, done = variable(v)
        with after(done):
            stepped = raw.AssignVariableXlaConcatND(resource=handle, inputs=list(parts), num_concats=[2, 2])
        return read(handle, v.dtype, stepped)
    yield P(step, R(T, 4, 6), *[R(T, 2, 3) for _ in range(4)])


@ops("ApproxTopK")
def _(T):
    yield P(lambda x: list(raw.ApproxTopK(input=x, k=3, reduction_dimension=1)),
            R(T, 4, 9) + np.arange(9, dtype=tf.as_dtype(T).as_numpy_dtype))


# --- plain ones ---
@ops("Const _EagerConst")
def _(dtype="float32"):
    value = R(dtype, 3, 4)
    yield P(lambda x: [tf.constant(value), tf.identity(x)], R("float32", 2))


@ops("Assert NoOp ControlTrigger")
def _():
    def step(x):
        checked = raw.Assert(condition=tf.reduce_all(x < 9), data=[x])
        with after(checked):
            nothing = raw.NoOp()
        with after(nothing):
            trigger = raw.ControlTrigger()
        with after(trigger):
            return x + 1
    yield P(step, R("float32", 3))


@ops("IdentityN _ArrayToList _ListToArray")
def _():
    yield P(lambda x, y: raw.IdentityN(input=[x, y]), R("float32", 3), R("int32", 2))


@ops("PlaceholderWithDefault")
def _(dtype="float32"):
    yield P(lambda x: raw.PlaceholderWithDefault(input=x, shape=[3]), R(dtype, 3))


@ops("Empty")
def _(dtype):
    yield P(lambda x: [raw.Empty(shape=[2, 3], dtype=dtype, init=True), x + 1], R("float32", 2))


@ops("FakeParam DeviceIndex")
def _():
    yield P(lambda x: raw.DeviceIndex(device_names=["CPU", "GPU"]) * 0 + x, I(4, 2))


@ops("StatelessRandomGetAlg")
def _():
    yield P(lambda x: raw.StatelessRandomGetAlg() * 0 + x, I(4, 2))
