"""Whole graphs for check_tf_models.py: GRAPHS maps a name to (function of tensors, arrays). Those of @legacy are built
with the control flow of TensorFlow 1 (Switch, Merge, Enter, Exit), the others with If, While, Case and calls of
functions. Elements are compared with tf.equal, as == compares objects in a graph."""
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
random = np.random.default_rng(41)
GRAPHS = {}
REFUSED = {}  # by graph: an operation for which it has to be refused, as XLA has none on CPUs


def f32(*shape, low=-1.0, high=1.0):
    return random.uniform(low, high, shape).astype(np.float32)


def s32(*shape, low=0, high=9):
    return random.integers(low, high, shape).astype(np.int32)


def graph(*arrays):
    def register(function):
        GRAPHS[function.__name__] = (function, arrays)
        return function
    return register


def refused(operation, *arrays):
    def register(function):
        REFUSED[function.__name__] = operation
        return graph(*arrays)(function)
    return register


def legacy(function):
    """The function with the control flow of TensorFlow 1."""
    def wrapped(*args):
        tf1.disable_control_flow_v2()
        try:
            return function(*args)
        finally:
            tf1.enable_control_flow_v2()
    wrapped.__name__ = function.__name__
    return wrapped


def pull_back(y, inputs):
    return tf.gradients(y, inputs, grad_ys=tf.cos(y))
