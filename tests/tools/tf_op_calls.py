"""Random calls of TensorFlow's operations: what the rows of OPS are made of. OPS maps a name to a function that gets
the types of the type attributes and yields dicts of raw_ops' arguments. Arrays become placeholders; what is in
C(...) becomes a constant, as sizes and axes must be; anything else is an attribute."""
import numpy as np
import tensorflow as tf


rng = np.random.default_rng(23)
OPS = {}


class C:
    """A compile-time constant."""
    def __init__(self, value, dtype=np.int32):
        self.value = np.asarray(value, dtype)


def ops(names):
    def register(function):
        for name in names.split():
            OPS[name] = function
        return function
    return register


def R(dtype, *shape, low=-2.0, high=2.0):
    """Random numbers of a type, integers from -6 to 6 for wide ranges."""
    d = tf.as_dtype(dtype)
    if d.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if d.is_complex:
        part = rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
        return np.asarray(part, d.as_numpy_dtype)
    if d.is_integer or d.is_quantized:
        least = 0 if d.is_unsigned or low >= 0 else int(3 * low)
        return np.asarray(rng.integers(least, max(int(3 * high), least + 2), shape), d.as_numpy_dtype)
    return np.asarray(rng.uniform(low, high, shape), d.as_numpy_dtype)


def I(high, *shape, dtype=np.int32, low=0):
    return rng.integers(low, high, shape).astype(dtype)
