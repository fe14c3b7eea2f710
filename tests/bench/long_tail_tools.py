"""What the files of programs of long_tail.py share: P, and arrays of every type."""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(11)
P = {}
TYPES = {
    "u8": np.uint8,
    "s8": np.int8,
    "s16": np.int16,
    "u16": np.uint16,
    "s32": np.int32,
    "u32": np.uint32,
    "s64": np.int64,
    "u64": np.uint64,
    "bf16": jnp.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
    "pred": np.bool_,
}


def R(kind, *shape):
    """An array of the type: small integers, or normal numbers."""
    dtype = np.dtype(TYPES[kind])
    if kind == "pred":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        low = -100 if dtype.kind == "i" else 0
        return rng.integers(low, 100, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if dtype.kind == "c" else x.astype(dtype)


def indices(limit, *shape):
    return rng.integers(0, limit, shape).astype(np.int32)


def add(name, function, *args):
    P[name] = function, args


def each(kinds, name, function, *shape):
    for kind in kinds.split():
        add(f"{name}_{kind}", function, R(kind, *shape))


def spd(*shape, kind="f32"):
    x = R(kind, *shape)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + shape[-1] * np.eye(shape[-1])).astype(x.dtype)
