"""Programs for check_tf_ops.py, as in tf_op_program.py: optimizers and variables, TensorArrays, stacks and lists."""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tf_op_inputs import I, OPS, R, ops
from tf_op_program import P, after, count, raw, read, variable

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
    yield P(lambda v: of_variable(lambda h, v: raw.VariableShape(input=h, out_type=out_type))("float32")(v),
            R("float32", 3, 2))


@ops("ResourceGather")
def _(dtype, Tindices="int32"):
    yield P(lambda v, i: of_variable(lambda h, v, i: raw.ResourceGather(resource=h, indices=i, dtype=v.dtype))(dtype)(v,
        i),
            R(dtype, 5, 3), I(5, 2, 2, dtype=Tindices))


@ops("ResourceStridedSliceAssign")
def _(T, Index="int32"):
    def step(v, x):
        handle, done = variable(v)
        with after(done):
            stepped = raw.ResourceStridedSliceAssign(ref=handle, begin=tf.constant([1, 4], Index),
                                                     end=tf.constant([3, 0], Index),
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
        flow = raw.TensorArrayWriteV3(handle=handle, index=3, value=x[0] + x[1] if not tf.as_dtype(T).is_bool else x[1],
                                      flow_in=flow)
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
        pushed = raw.TensorListPushBack(input_handle=raw.TensorListPushBack(input_handle=empty, tensor=x[0]),
                                        tensor=x[1])
        less, last = raw.TensorListPopBack(input_handle=pushed, element_shape=[2, 3], element_dtype=T)
        split = raw.TensorListSplit(tensor=x[0], element_shape=[1, 3], lengths=tf.constant([1, 1], tf.int64))
        get = lambda h, i: raw.TensorListGetItem(input_handle=h, index=i, element_shape=[2, 3], element_dtype=T)
        return [get(kept, 1), get(whole, 2), last, raw.TensorListLength(input_handle=whole),
                raw.TensorListLength(input_handle=reserved),
                raw.TensorListStack(input_handle=whole, element_shape=[2, 3], element_dtype=T, num_elements=3),
                raw.TensorListGather(input_handle=whole, indices=[2, 0], element_shape=[2, 3], element_dtype=T),
                raw.TensorListConcatV2(input_handle=whole, element_shape=[2, 3], leading_dims=tf.constant([], tf.int64),
                                       element_dtype=T)[0],
                raw.TensorListElementShape(input_handle=whole, shape_type="int32"),
                raw.TensorListGetItem(input_handle=split, index=1, element_shape=[1, 3], element_dtype=T), get(less, 0)]
    yield P(step, R(T, 3, 2, 3))


for op in ("EmptyTensorList TensorListConcatV2 TensorListElementShape TensorListFromTensor TensorListGather TensorListGetItem TensorListLength "
           "TensorListPopBack TensorListPushBack TensorListReserve TensorListSetItem TensorListSplit TensorListStack").split():
    OPS[op] = list_program
