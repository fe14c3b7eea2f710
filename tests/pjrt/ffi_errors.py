"""Errors and exceptions of FFI handlers of C++, of the library that ffi_handlers.cpp is compiled to: argv[1]."""
import ctypes
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

from run_programs import close, fails_with, run_all, test

LIBRARY = ctypes.cdll.LoadLibrary(sys.argv[1])
CODES = """CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED
RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS
UNAUTHENTICATED""".split()
for name in "Fail", "Raise", "Number":
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(LIBRARY, name)), platform="cpu")
jax.ffi.register_ffi_target("Early", {"initialize": jax.ffi.pycapsule(LIBRARY.RaiseEarly),
                                      "execute": jax.ffi.pycapsule(LIBRARY.Copy)}, platform="cpu")


def call(target, **attributes):
    """A program that calls the handler and adds 1."""
    given = {name: np.int64(value) for name, value in attributes.items()}
    return jax.jit(lambda x: jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(x.shape, x.dtype))(x, **given) + 1)


def numbers():
    return jnp.arange(4, dtype=jnp.int64)


@test
def codes_of_errors():
    for code, name in enumerate(CODES, 1):
        error = fails_with("no luck", call("Fail", code=code), numbers())
        assert str(error).startswith(name + ":"), error


@test
def exceptions():
    texts = ["std::out_of_range: index 7", "Both: from the second base", "type int", "basic_string"]
    for kind, text in enumerate(texts, 1):
        error = fails_with(text, call("Raise", kind=kind), numbers())
        assert str(error).startswith("UNKNOWN:") and "while calling Raise" in str(error), error
    close(call("Raise", kind=0)(numbers()), [1, 2, 3, 4])


@test
def exceptions_of_earlier_stages():
    fails_with("std::runtime_error: too early", call("Early"), numbers())


# On devices of a mesh the handlers run in threads of the plugin.
@test
def exceptions_on_several_devices():
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    x = jax.device_put(jnp.arange(8, dtype=jnp.int64), NamedSharding(mesh, P("x")))
    for kind in 1, 0, 3, 0:
        raises = jax.jit(jax.shard_map(call("Raise", kind=kind), mesh=mesh, in_specs=P("x"), out_specs=P("x"),
                                       check_vma=False))
        if kind:
            fails_with("C++ exception", raises, x)
        else:
            close(raises(x), np.arange(1, 9))


# The number is another one at each execution, and the same on all devices.
@test
def numbers_of_executions():
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    x = jax.device_put(jnp.zeros(8, dtype=jnp.int64), NamedSharding(mesh, P("x")))
    f = jax.jit(jax.shard_map(call("Number"), mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))
    first, second = np.asarray(f(x)), np.asarray(f(x))
    assert len(set(first)) == 1 and len(set(second)) == 1 and first[0] != second[0], (first, second)


jax.config.update("jax_enable_x64", True)
if __name__ == "__main__":
    run_all()
