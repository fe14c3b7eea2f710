"""Programs for check_tf_ops.py, as in tf_op_program.py: functions and control flow."""
import numpy as np
import tensorflow as tf

from tf_op_inputs import OPS, R, ops
from tf_op_program import P, raw


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
            return getattr(raw, name)(cond=c, input=[x, y], Tout=[tf.float32, tf.float32], then_branch=one,
                                      else_branch=two)
        for c in (False, True):
            yield P(step, np.asarray(c, tf.as_dtype(Tcond).as_numpy_dtype), R("float32", 3), R("float32", 3))
    return calls


def cases(name):
    def calls():
        def step(k, x):
            functions = [concrete(f, spec(x)) for f in (lambda a: [tf.sin(a)], lambda a: [a * a],
                                                        lambda a: [tf.exp(a)])]
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
