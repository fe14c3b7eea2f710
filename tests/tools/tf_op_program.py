"""Calls of operations that need more than arrays, such as variables. Rows of OPS as in tf_op_calls.py, which yield
P(function, arrays...): the function gets tensors and returns results; each program has the operation of its row
in it."""
import itertools

import tensorflow as tf

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
