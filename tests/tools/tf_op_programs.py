"""Calls of operations that need more than arrays: variables, TensorArrays, stacks, lists, functions, random numbers
without a seed, XLA's own operations with their messages. Rows of OPS as in tf_op_inputs.py, which yield P(function,
arrays...): the function gets tensors and returns results; each program has the operation of its row in it."""
import itertools

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tf_op_inputs import I, OPS, R, definite, ops

raw = tf.raw_ops
count = itertools.count()


class P:
    """A program: a function of tensors, and their arrays."""
    def __init__(self, function, *arrays):
        self.function, self.arrays = function, list(arrays)


def after(*done):
    return tf.control_dependencies([d for d in done if d is not None])


def variable(value):
    """The handle of a new variable, and what must run before it is used."""
    handle = raw.VarHandleOp(dtype=value.dtype, shape=value.shape, shared_name="variable%d" % next(count))
    return handle, raw.AssignVariableOp(resource=handle, value=value)


def read(handle, dtype, *done):
    with after(*done):
        return raw.ReadVariableOp(resource=handle, dtype=dtype)


# --- optimizers: slots are variables, grad and delta arrays, of rows if there are indices; all else is a scalar ---
SCALARS = {"lr_power": -0.5, "logbase": 1.0, "beta1_power": 0.9, "beta2_power": 0.99, "epsilon": 0.1, "momentum": 0.5}


def optimizer(name):
    arguments = op_def_registry.get(name).input_arg
    slots = [a.name for a in arguments if a.type == tf.resource.as_datatype_enum]

    def calls(T, Tindices="int32"):
        plain = [a.name for a in arguments if a.name not in slots]
        values = {"global_step": np.int64(3), "indices": np.array([2, 0], Tindices)}
        for a in plain:
            if a in ("grad", "delta"):
                values[a] = R(T, 2 if "indices" in plain else 3, 4)
            elif a not in values:
                values[a] = np.asarray(SCALARS.get(a, 0.2), tf.as_dtype(T).as_numpy_dtype)

        def step(*x):
            handles, done = zip(*[variable(v) for v in x[:len(slots)]])
            with after(*done):
                stepped = getattr(raw, name)(**dict(zip(slots, handles)), **dict(zip(plain, x[len(slots):])))
            return [read(h, x[0].dtype, stepped) for h in handles]
        yield P(step, *[R(T, 3, 4, low=0.2, high=2) for _ in slots], *[values[a] for a in plain])
    return calls


for op in ("AdaMax Adadelta Adagrad AdagradDA AdagradV2 Adam AddSign CenteredRMSProp Ftrl FtrlV2 GradientDescent KerasMomentum Momentum "
           "PowerSign ProximalAdagrad ProximalGradientDescent RMSProp").split():
    OPS["ResourceApply" + op] = optimizer("ResourceApply" + op)
for op in ("Adadelta Adagrad AdagradDA AdagradV2 CenteredRMSProp Ftrl FtrlV2 KerasMomentum Momentum ProximalAdagrad "
           "ProximalGradientDescent RMSProp").split():
    OPS["ResourceSparseApply" + op] = optimizer("ResourceSparseApply" + op)


# --- variables ---
def written(name, nested):
    def calls(dtype="float32", Tindices="int32", T=None):
        T = T or dtype
        indices = np.array([[0], [4], [2]] if nested else [0, 4, 2], Tindices)

        def step(v, i, updates):
            handle, done = variable(v)
            with after(done):
                stepped = getattr(raw, name)(**{"ref" if nested else "resource": handle}, indices=i, updates=updates)
            return read(handle, v.dtype, stepped)
        yield P(step, R(T, 5, 3), indices, R(T, 3, 3, low=0.5, high=2))
    if nested:
        return lambda T, Tindices="int32": calls(T, Tindices)
    return lambda dtype, Tindices="int32": calls(dtype, Tindices)


for op in "Add Sub Mul Div Max Min Update".split():
    OPS["ResourceScatter" + op] = written("ResourceScatter" + op, False)
for op in "Add Sub Update".split():
    OPS["ResourceScatterNd" + op] = written("ResourceScatterNd" + op, True)


def assigned(name):
    def calls(dtype):
        def step(v, x):
            handle, done = variable(v)
            with after(done):
                stepped = getattr(raw, name)(resource=handle, value=x)
            return read(handle, v.dtype, stepped)
        yield P(step, R(dtype, 3, 4), R(dtype, 3, 4))
    return calls


for op in "AssignVariableOp AssignAddVariableOp AssignSubVariableOp".split():
    OPS[op] = assigned(op)


def of_variable(function):
    def calls(dtype, **types):
        def step(v, *more):
            handle, done = variable(v)
            with after(done):
                return function(handle, v, *more, **types)
        return step
    return calls


@ops("ReadVariableOp")
def _(dtype):
    yield P(lambda v: of_variable(lambda h, v: raw.ReadVariableOp(resource=h, dtype=v.dtype))(dtype)(v), R(dtype, 3))


@ops("VarIsInitializedOp")
def _():
    yield P(lambda v: of_variable(lambda h, v: raw.VarIsInitializedOp(resource=h))("float32")(v), R("float32", 3))


@ops("VariableShape")
def _(out_type):
    yield P(lambda v: of_variable(lambda h, v: raw.VariableShape(input=h, out_type=out_type))("float32")(v), R("float32", 3, 2))


@ops("ResourceGather")
def _(dtype, Tindices="int32"):
    yield P(lambda v, i: of_variable(lambda h, v, i: raw.ResourceGather(resource=h, indices=i, dtype=v.dtype))(dtype)(v, i),
            R(dtype, 5, 3), I(5, 2, 2, dtype=Tindices))


@ops("ResourceStridedSliceAssign")
def _(T, Index="int32"):
    def step(v, x):
        handle, done = variable(v)
        with after(done):
            stepped = raw.ResourceStridedSliceAssign(ref=handle, begin=tf.constant([1, 4], Index), end=tf.constant([3, 0], Index),
                                                     strides=tf.constant([1, -2], Index), value=x)
        return read(handle, v.dtype, stepped)
    yield P(step, R(T, 4, 5), R(T, 2, 2))


# --- TensorArrays, stacks, lists ---
def array(T, size=4, shape=(2, 3)):
    return raw.TensorArrayV3(size=size, dtype=T, element_shape=list(shape), clear_after_read=False,
                             tensor_array_name="array%d" % next(count))


def array_program(T):
    def step(x):
        handle, flow = array(T)
        flow = raw.TensorArrayScatterV3(handle=handle, indices=[0, 1, 2], value=x, flow_in=flow)
        flow = raw.TensorArrayWriteV3(handle=handle, index=3, value=x[0] + x[1] if not tf.as_dtype(T).is_bool else x[1], flow_in=flow)
        size = raw.TensorArraySizeV3(handle=handle, flow_in=flow)
        results = [raw.TensorArrayReadV3(handle=handle, index=3, flow_in=flow, dtype=T), size,
                   raw.TensorArrayGatherV3(handle=handle, indices=[2, 0], flow_in=flow, dtype=T, element_shape=[2, 3]),
                   raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=T, element_shape_except0=[3])[0]]
        parts, more = array(T, 2, (1, 3))
        more = raw.TensorArraySplitV3(handle=parts, value=x[0], lengths=tf.constant([1, 1], tf.int64), flow_in=more)
        results.append(raw.TensorArrayReadV3(handle=parts, index=1, flow_in=more, dtype=T))
        with after(*results):
            closed = raw.TensorArrayCloseV3(handle=handle)
        with after(closed):
            return [tf.identity(r) for r in results]
    yield P(step, R(T, 3, 2, 3))


for op in "V3 CloseV3 ConcatV3 GatherV3 ReadV3 ScatterV3 SizeV3 SplitV3 WriteV3".split():
    OPS["TensorArray" + op] = lambda dtype=None, T=None: array_program(dtype or T or "float32")


@ops("TensorArrayGradV3")
def _():
    def step(x):
        handle, flow = array("float32")
        flow = raw.TensorArrayScatterV3(handle=handle, indices=[0, 1, 2, 3], value=x, flow_in=flow)
        grad, more = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="gradients%d" % next(count))
        more = raw.TensorArrayWriteV3(handle=grad, index=1, value=x[0], flow_in=more)
        more = raw.TensorArrayWriteV3(handle=grad, index=1, value=x[2], flow_in=more)
        return raw.TensorArrayReadV3(handle=grad, index=1, flow_in=more, dtype="float32")
    yield P(step, R("float32", 4, 2, 3))


def stack_program(T):
    def step(x):
        stack = raw.StackV2(max_size=5, elem_type=T, stack_name="stack%d" % next(count))
        pushed = raw.StackPushV2(handle=stack, elem=x[0])
        with after(pushed):
            second = raw.StackPushV2(handle=stack, elem=x[1])
        with after(second):
            popped = raw.StackPopV2(handle=stack, elem_type=T)
        with after(popped):
            last = raw.StackPopV2(handle=stack, elem_type=T)
        with after(last):
            closed = raw.StackCloseV2(handle=stack)
        with after(closed):
            return [tf.identity(v) for v in (pushed, popped, last)]
    yield P(step, R(T, 2, 3))


for op in "V2 PushV2 PopV2 CloseV2".split():
    OPS["Stack" + op] = lambda elem_type=None, T=None: stack_program(elem_type or T or "float32")


def list_program(element_dtype="float32"):
    T = element_dtype

    def step(x):
        reserved = raw.TensorListReserve(element_shape=[2, 3], num_elements=3, element_dtype=T)
        kept = raw.TensorListSetItem(input_handle=reserved, index=1, item=x[2])
        whole = raw.TensorListFromTensor(tensor=x, element_shape=[2, 3])
        empty = raw.EmptyTensorList(element_shape=[2, 3], max_num_elements=4, element_dtype=T)
        pushed = raw.TensorListPushBack(input_handle=raw.TensorListPushBack(input_handle=empty, tensor=x[0]), tensor=x[1])
        less, last = raw.TensorListPopBack(input_handle=pushed, element_shape=[2, 3], element_dtype=T)
        split = raw.TensorListSplit(tensor=x[0], element_shape=[1, 3], lengths=tf.constant([1, 1], tf.int64))
        get = lambda h, i: raw.TensorListGetItem(input_handle=h, index=i, element_shape=[2, 3], element_dtype=T)
        return [get(kept, 1), get(whole, 2), last, raw.TensorListLength(input_handle=whole), raw.TensorListLength(input_handle=reserved),
                raw.TensorListStack(input_handle=whole, element_shape=[2, 3], element_dtype=T, num_elements=3),
                raw.TensorListGather(input_handle=whole, indices=[2, 0], element_shape=[2, 3], element_dtype=T),
                raw.TensorListConcatV2(input_handle=whole, element_shape=[2, 3], leading_dims=tf.constant([], tf.int64), element_dtype=T)[0],
                raw.TensorListElementShape(input_handle=whole, shape_type="int32"),
                raw.TensorListGetItem(input_handle=split, index=1, element_shape=[1, 3], element_dtype=T), get(less, 0)]
    yield P(step, R(T, 3, 2, 3))


for op in ("EmptyTensorList TensorListConcatV2 TensorListElementShape TensorListFromTensor TensorListGather TensorListGetItem TensorListLength "
           "TensorListPopBack TensorListPushBack TensorListReserve TensorListSetItem TensorListSplit TensorListStack").split():
    OPS[op] = list_program


# --- functions and control flow ---
def concrete(function, *specs):
    return tf.function(function).get_concrete_function(*specs)


def spec(x):
    return tf.TensorSpec(x.shape, x.dtype)


def branches(name):
    def calls(Tcond="bool"):
        if Tcond not in ("bool", "int32", "float32"):  # TensorFlow itself ends the process for some of the others
            return

        def step(c, x, y):
            one = concrete(lambda a, b: [tf.sin(a) * b, a + b], spec(x), spec(y))
            two = concrete(lambda a, b: [tf.exp(-a * a), a - b], spec(x), spec(y))
            return getattr(raw, name)(cond=c, input=[x, y], Tout=[tf.float32, tf.float32], then_branch=one, else_branch=two)
        for c in (False, True):
            yield P(step, np.asarray(c, tf.as_dtype(Tcond).as_numpy_dtype), R("float32", 3), R("float32", 3))
    return calls


def cases(name):
    def calls():
        def step(k, x):
            functions = [concrete(f, spec(x)) for f in (lambda a: [tf.sin(a)], lambda a: [a * a], lambda a: [tf.exp(a)])]
            return getattr(raw, name)(branch_index=k, input=[x], Tout=[tf.float32], branches=functions)
        for k in (0, 2, 7):
            yield P(step, np.int32(k), R("float32", 3))
    return calls


def loops(name):
    def calls():
        def step(n, x):
            more = concrete(lambda i, a: i < 4, spec(n), spec(x))
            body = concrete(lambda i, a: [i + 1, tf.sin(a) * 2 + tf.cast(i, tf.float32)], spec(n), spec(x))
            return getattr(raw, name)(input=[n, x], cond=more, body=body)
        for n in (0, 9):
            yield P(step, np.int32(n), R("float32", 3))
    return calls


def called(name):
    def calls():
        def step(x, y):
            function = concrete(lambda a, b: [tf.matmul(a, b), tf.reduce_sum(a)], spec(x), spec(y))
            return getattr(raw, name)(args=[x, y], Tout=[tf.float32, tf.float32], f=function)
        yield P(step, R("float32", 2, 3), R("float32", 3, 2))
    return calls


for op in ("If", "StatelessIf"):
    OPS[op] = branches(op)
for op in ("Case", "StatelessCase"):
    OPS[op] = cases(op)
for op in ("While", "StatelessWhile"):
    OPS[op] = loops(op)
for op in ("PartitionedCall", "StatefulPartitionedCall"):
    OPS[op] = called(op)


@ops("SymbolicGradient")
def _():
    from tensorflow.python.framework import function

    @function.Defun(tf.float32, tf.float32)
    def layer(a, b):
        return tf.nn.softmax(tf.matmul(a, b)) + tf.reduce_sum(tf.sigmoid(a), 1, keepdims=True)

    def step(a, b, g):
        layer(a, b)
        return raw.SymbolicGradient(input=[a, b, g], Tout=[tf.float32, tf.float32], f=layer)
    yield P(step, R("float32", 3, 4), R("float32", 4, 2), R("float32", 3, 2))


def xla():
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops
    return gen_xla_ops


@ops("XlaIf")
def _():
    def step(c, x):
        one, two = concrete(lambda a: [tf.sin(a)], spec(x)), concrete(lambda a: [a * a], spec(x))
        return xla().xla_if(c, [x], one, two, [tf.float32])
    for c in (False, True):
        yield P(step, np.asarray(c), R("float32", 3))


@ops("XlaWhile")
def _():
    def step(n, x):
        more = concrete(lambda i, a: i < 4, spec(n), spec(x))
        body = concrete(lambda i, a: [i + 1, tf.sin(a) * 2], spec(n), spec(x))
        return xla().xla_while([n, x], more, body)
    yield P(step, np.int32(1), R("float32", 3))


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
    dims = messages().DotDimensionNumbers(lhs_batch_dimensions=[0], rhs_batch_dimensions=[0], lhs_contracting_dimensions=[2],
                                          rhs_contracting_dimensions=[1]).SerializeToString()
    if usable(T):
        yield P(lambda x, y: xla().xla_dot(x, y, dims, b""), R(T, 2, 3, 4), R(T, 2, 4, 5))


@ops("XlaDotV2")
def _(LhsT):
    dims = messages().DotDimensionNumbers(lhs_contracting_dimensions=[0], rhs_contracting_dimensions=[1]).SerializeToString()
    if usable(LhsT):
        yield P(lambda x, y: xla().xla_dot_v2(x, y, dims, b"", x.dtype), R(LhsT, 4, 3), R(LhsT, 2, 4))


def convolution():
    return messages().ConvolutionDimensionNumbers(
        input_batch_dimension=0, input_feature_dimension=3, input_spatial_dimensions=[1, 2], kernel_input_feature_dimension=2,
        kernel_output_feature_dimension=3, kernel_spatial_dimensions=[0, 1], output_batch_dimension=2, output_feature_dimension=0,
        output_spatial_dimensions=[1, 3]).SerializeToString()


CONV = dict(window_strides=[2, 1], padding=[[1, 0], [0, 2]], lhs_dilation=[1, 2], rhs_dilation=[1, 1], feature_group_count=1)


@ops("XlaConv")
def _(T):
    if tf.as_dtype(T).is_floating:  # XLA itself ends the process for others
        yield P(lambda x, k: xla().xla_conv(x, k, dimension_numbers=convolution(), precision_config=b"", **CONV), R(T, 2, 5, 6, 3),
                R(T, 2, 3, 3, 4))


@ops("XlaConvV2")
def _(LhsT):
    if tf.as_dtype(LhsT).is_floating:
        yield P(lambda x, k: xla().xla_conv_v2(x, k, dimension_numbers=convolution(), precision_config=b"", batch_group_count=1,
                                               preferred_element_type=x.dtype, **CONV), R(LhsT, 2, 5, 6, 3), R(LhsT, 2, 3, 3, 4))


@ops("XlaGather")
def _(T, Tindices="int32"):
    dims = messages().GatherDimensionNumbers(offset_dims=[1, 2], collapsed_slice_dims=[1], start_index_map=[0, 1],
                                             index_vector_dim=1).SerializeToString()
    yield P(lambda x, i: xla().xla_gather(x, i, tf.constant([2, 1, 5], Tindices), dims, False), R(T, 3, 4, 5), I(3, 2, 2, dtype=Tindices))


@ops("XlaScatter")
def _(T, Tindices="int32"):
    dims = messages().ScatterDimensionNumbers(update_window_dims=[1], inserted_window_dims=[0, 1], scatter_dims_to_operand_dims=[0, 1],
                                              index_vector_dim=1).SerializeToString()
    if usable(T):
        yield P(lambda x, i, u: xla().xla_scatter(x, i, u, scalars(T, lambda a, b: a + b), dims, False), R(T, 3, 4, 5),
                I(3, 2, 2, dtype=Tindices), R(T, 2, 5))


@ops("XlaDynamicSlice")
def _(T, Tindices="int32"):
    yield P(lambda x, i: xla().xla_dynamic_slice(x, i, tf.constant([2, 3], Tindices)), R(T, 4, 5), I(3, 2, dtype=Tindices))


@ops("XlaDynamicUpdateSlice")
def _(T, Tindices="int32"):
    yield P(lambda x, u, i: xla().xla_dynamic_update_slice(x, u, i), R(T, 4, 5), R(T, 2, 2), I(3, 2, dtype=Tindices))


@ops("XlaPad")
def _(T, Tindices="int32"):
    yield P(lambda x, v: xla().xla_pad(x, v, *[tf.constant(c, Tindices) for c in ([1, -1], [0, 2], [0, 1])]), R(T, 4, 5), R(T))


@ops("XlaReduce")
def _(T):
    if usable(T):
        yield P(lambda x, v: xla().xla_reduce(x, v, [0, 2], scalars(T, lambda a, b: a + b)), R(T, 2, 3, 4), R(T))


@ops("XlaVariadicReduce")
def _(T):
    if usable(T):
        pair = lambda a, b, c, d: (a + c, b + d)
        yield P(lambda x, y, v: xla().xla_variadic_reduce([x, y], [v, v], [1], scalars(T, pair, 4)), R(T, 2, 3), R(T, 2, 3), R(T))


@ops("XlaVariadicReduceV2")
def _():
    pair = lambda a, b, c, d: (a + c, b * d)
    yield P(lambda x, y, v: xla().xla_variadic_reduce_v2([x, y], [v, v], [1], scalars("float32", pair, 4)), R("float32", 2, 3),
            R("float32", 2, 3), R("float32"))


@ops("XlaReduceWindow")
def _(T):
    if usable(T):
        yield P(lambda x, v: xla().xla_reduce_window(x, v, [2, 2], [1, 2], [1, 1], [2, 1], [[1, 0], [0, 1]], scalars(T, lambda a, b: a + b)),
                R(T, 4, 5), R(T))


@ops("XlaSelectAndScatter")
def _(T):
    if usable(T) and not tf.as_dtype(T).is_complex:
        yield P(lambda x, s, v: xla().xla_select_and_scatter(x, [2, 2], [2, 2], [[0, 0], [0, 0]], s, v, scalars(T, lambda a, b: a >= b),
                                                             scalars(T, lambda a, b: a + b)), R(T, 4, 6), R(T, 2, 3), R(T))


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
    yield P(lambda x, y: xla().xla_variadic_sort([x, y], 1, scalars("float32", greater, 4), True), R("float32", 3, 5), R("float32", 3, 5))


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
    yield P(lambda k: xla().xla_rng_bit_generator(tf.constant(1), k, [3, 5], tf.uint32)[1], I(2 ** 40, 3, dtype=np.uint64))


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
    yield P(lambda x: xla().xla_remove_dynamic_dimension_size(xla().xla_set_dynamic_dimension_size(x, 0, tf.constant(3)), 0)[:3], R(T, 5, 2))


@ops("XlaDequantize")
def _():
    yield P(lambda x: tf.cast(xla().xla_dequantize(x, -1.5, 2.0, "MIN_COMBINED", False), tf.float32), I(2 ** 31, 2, 3, dtype=np.uint32))


@ops("XlaSplitND")
def _(T):
    yield P(lambda x: raw.XlaSplitND(input=x, N=4, num_splits=[2, 2]), R(T, 4, 6))


@ops("XlaConcatND")
def _(T):
    yield P(lambda *x: raw.XlaConcatND(inputs=list(x), num_concats=[2, 2]), *[R(T, 2, 3) for _ in range(4)])


@ops("ReadVariableXlaSplitND")
def _(T):
    yield P(lambda v: of_variable(lambda h, v: raw.ReadVariableXlaSplitND(resource=h, T=v.dtype, N=4, num_splits=[2, 2]))(T)(v), R(T, 4, 6))


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
    yield P(lambda x: list(raw.ApproxTopK(input=x, k=3, reduction_dimension=1)), R(T, 4, 9) + np.arange(9, dtype=tf.as_dtype(T).as_numpy_dtype))


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


# --- random numbers: of those whose bits are not defined the type, sizes and bounds ---
def bounds(x, low, high):
    wide = tf.cast(x, tf.float64)
    mean = tf.reduce_mean(wide)
    return [tf.shape(x), tf.reduce_all((wide >= low) & (wide <= high)), (mean > low) & (mean < high), tf.reduce_min(wide) < tf.reduce_max(wide)]


@ops("RandomUniform RandomStandardNormal TruncatedNormal")
def _(dtype, T="int32"):
    def step(x):
        shape = tf.constant([40, 25], T)
        return [bounds(raw.RandomUniform(shape=shape, dtype=dtype), 0, 1), bounds(raw.RandomStandardNormal(shape=shape, dtype=dtype), -9, 9),
                bounds(raw.TruncatedNormal(shape=shape, dtype=dtype), -2.01, 2.01), x]
    yield P(step, I(4, 2))


@ops("RandomUniformInt")
def _(Tout, T="int32"):
    yield P(lambda a, b: bounds(raw.RandomUniformInt(shape=tf.constant([40, 5], T), minval=a, maxval=b), -3, 7), np.asarray(-3, Tout), np.asarray(8, Tout))


@ops("ParameterizedTruncatedNormal")
def _(dtype, T="int32"):
    yield P(lambda m, d, a, b: bounds(raw.ParameterizedTruncatedNormal(shape=tf.constant([3, 400], T), means=m, stdevs=d, minvals=a, maxvals=b), -1, 2),
            *[np.asarray(v, tf.as_dtype(dtype).as_numpy_dtype) for v in ([0.5] * 3, [1] * 3, [-1] * 3, [2] * 3)])


@ops("StatelessParameterizedTruncatedNormal")
def _(dtype, S="int32", Tseed="int32"):
    yield P(lambda s, m, d, a, b: bounds(raw.StatelessParameterizedTruncatedNormal(shape=tf.constant([400, 3], S), seed=s, means=m, stddevs=d, minvals=a,
                                                                                   maxvals=b), -1, 2),
            I(99, 2, dtype=Tseed), *[np.asarray(v, tf.as_dtype(dtype).as_numpy_dtype) for v in (0.5, 1, -1, 2)])


@ops("StatelessTruncatedNormal")
def _(dtype, T="int32", Tseed="int32"):
    yield P(lambda s: bounds(raw.StatelessTruncatedNormal(shape=tf.constant([40, 25], T), seed=s, dtype=dtype), -2.01, 2.01), I(99, 2, dtype=Tseed))


@ops("StatelessTruncatedNormalV2")
def _(dtype, Tshape="int32"):
    yield P(lambda k, c: bounds(raw.StatelessTruncatedNormalV2(shape=tf.constant([40, 25], Tshape), key=k, counter=c, alg=tf.constant(1), dtype=dtype),
                                -2.01, 2.01), I(2 ** 40, 1, dtype=np.uint64), I(2 ** 40, 2, dtype=np.uint64))


@ops("Multinomial")
def _(T, output_dtype="int64"):
    yield P(lambda x: bounds(raw.Multinomial(logits=x, num_samples=200, output_dtype=output_dtype), 0, 4), R(T, 3, 5))


@ops("RandomShuffle")
def _(T):
    yield P(lambda x: tf.reduce_sum(tf.cast(raw.RandomShuffle(value=x), tf.float64)), R(T, 8)) if not tf.as_dtype(T).is_complex else P(
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
    yield generator(lambda h: bounds(raw.StatefulTruncatedNormal(resource=h, algorithm=ALGORITHM, shape=shape(), dtype=dtype), -2.01, 2.01))


@ops("StatefulUniformInt")
def _(dtype, shape_dtype="int64"):
    if is_size(shape_dtype):
        yield generator(lambda h: raw.StatefulUniformInt(resource=h, algorithm=ALGORITHM, shape=tf.constant([3, 5], shape_dtype),
                                                         minval=tf.constant(-3, dtype), maxval=tf.constant(8, dtype)))


@ops("StatefulUniformFullInt")
def _(dtype, shape_dtype="int64"):
    if is_size(shape_dtype):
        yield generator(lambda h: raw.StatefulUniformFullInt(resource=h, algorithm=ALGORITHM, shape=tf.constant([3, 5], shape_dtype), dtype=dtype))


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
        yield P(lambda x, T=T, scale=scale: bits(raw.UniformQuantize(input=x, scales=scale, zero_points=3, Tout=T, **limits(T))), R("float32", 3, 4))
        yield P(lambda x, T=T: bits(raw.UniformQuantize(input=x, scales=[0.1, 0.2, 0.4], zero_points=[0, 1, 2], Tout=T, quantization_axis=0,
                                                        **limits(T))), R("float32", 3, 4))


@ops("UniformDequantize")
def _():
    for T in LIMITS:
        yield P(lambda x, T=T: raw.UniformDequantize(input=tf.bitcast(x, T), scales=0.02, zero_points=2, Tout=tf.float32, **limits(T)),
                I(90, 3, 4, dtype=BITS[T].as_numpy_dtype, low=-90))


@ops("UniformRequantize")
def _():
    for a, b in itertools.product(LIMITS, repeat=2):
        yield P(lambda x, a=a, b=b: bits(raw.UniformRequantize(input=tf.bitcast(x, a), input_scales=0.03, input_zero_points=3, output_scales=0.05,
                                                               output_zero_points=-2, Tout=b, **limits(a, "input_"), **limits(b, "output_"))),
                I(90, 3, 4, dtype=BITS[a].as_numpy_dtype, low=-90))


@ops("UniformQuantizedAdd UniformQuantizedClipByValue")
def _():
    q = lambda x: tf.bitcast(x, tf.qint32)
    every = {k: v for p in ("lhs_", "rhs_", "output_") for k, v in limits("qint32", p).items()}

    def step(x, y):
        total = raw.UniformQuantizedAdd(lhs=q(x), rhs=q(y), lhs_scales=1e-3, lhs_zero_points=7, rhs_scales=2e-3, rhs_zero_points=1, output_scales=2e-3,
                                        output_zero_points=-3, **every)
        clipped = raw.UniformQuantizedClipByValue(operand=q(x), min=q(tf.constant(-500)), max=q(tf.constant(900)), scales=1e-3, zero_points=7,
                                                  **limits("qint32"))
        return [bits(total), bits(clipped)]
    yield P(step, I(3000, 3, 4, low=-3000), I(3000, 4, low=-3000))


@ops("UniformQuantizedDot UniformQuantizedConvolution")
def _():
    q = lambda x: tf.bitcast(x, tf.qint8)
    every = dict(limits("qint8", "lhs_"), **limits("qint8", "rhs_"), **limits("qint32", "output_"))
    scales = dict(lhs_scales=0.02, lhs_zero_points=2, rhs_scales=0.01, output_scales=0.001, output_zero_points=5, Tout=tf.qint32)

    def step(x, y):
        image, kernel = tf.reshape(q(x), [1, 2, 3, 2]), tf.reshape(q(y), [5, 2, 2, 1])
        return [bits(raw.UniformQuantizedDot(lhs=q(x), rhs=q(y), rhs_zero_points=-1, **scales, **every)),
                bits(raw.UniformQuantizedConvolution(lhs=image, rhs=kernel, rhs_zero_points=0, padding="SAME", window_strides=[1, 1], **scales,
                                                     **every))]
    yield P(step, I(128, 3, 4, dtype=np.int8, low=-128), I(128, 4, 5, dtype=np.int8, low=-128))


# --- fused operations of TensorFlow's own passes ---
@ops("_FusedConv2D _FusedBatchNormEx")
def _():
    from tensorflow.python.framework.op_def_library import apply_op

    def step(x, k, b):
        results = []
        for parts, args in [(["BiasAdd"], [b]), (["BiasAdd", "Relu"], [b]), (["FusedBatchNorm", "Relu6"], [b, b * b, b - 1, b * b + 1])]:
            results.append(apply_op("_FusedConv2D", name="conv", input=x, filter=k, args=args, host_args=[], num_args=len(args), explicit_paddings=[],
                                    data_format="NHWC", filter_format="HWIO", dilations=[1, 1, 1, 1], use_cudnn_on_gpu=False, leakyrelu_alpha=0.2,
                                    strides=[1, 2, 1, 1], padding="SAME", fused_ops=parts, epsilon=0.01))
        return results
    yield P(step, R("float32", 2, 6, 8, 4), R("float32", 3, 2, 4, 6), R("float32", 6))


@ops("_UnaryOpsComposition")
def _(T):
    from tensorflow.python.framework.op_def_library import apply_op
    yield P(lambda x: apply_op("_UnaryOpsComposition", name="composed", x=x, op_names=["Tanh", "Square", "Neg"]), R(T, 3, 4))
