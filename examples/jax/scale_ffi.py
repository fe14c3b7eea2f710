"""Calls the handler of scale_ffi.c from a program. argv: the shared library."""
import ctypes
import sys

import jax
import jax.numpy as jnp
import numpy as np

library = ctypes.cdll.LoadLibrary(sys.argv[1])
jax.ffi.register_ffi_target("scale", jax.ffi.pycapsule(library.scale), platform="cpu")


@jax.jit
def f(x):
    return jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, factor=np.float32(3)) + 1


print(f(jnp.arange(4.0)))
