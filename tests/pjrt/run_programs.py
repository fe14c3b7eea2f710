"""What the programs beside this file share: their list, and how all of it is run."""
import importlib.util
import traceback

import jax
import numpy as np

PROGRAMS = []
VERSION = tuple(map(int, jax.__version__.split(".")[:2]))


class Skipped(Exception):
    """The installed JAX, or what stands on it, lacks what a program is about."""


def needs(*modules):
    """Adds a program, which is skipped where a module is missing. Programs run in the order of the file."""
    def add(f):
        PROGRAMS.append((f, modules))
        return f
    return add


test = needs()


def close(got, want, rtol=1e-5, atol=1e-6):
    """Compares, by default within the error of f32."""
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=atol)


def shard_map(f, mesh, in_specs, out_specs):
    """JAX before 0.6 has it elsewhere, with another name for a check that the programs leave out."""
    if hasattr(jax, "shard_map"):
        return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)
    from jax.experimental.shard_map import shard_map as older
    return older(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_rep=False)


def fails_with(text, f, *args):
    """An error that says `text` is what f(*args) is to end with."""
    try:
        jax.block_until_ready(f(*args))
    except Exception as e:
        assert text in str(e), e
        return e
    raise AssertionError("no error")


def run_one(f, modules):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise Skipped(f"{missing[0]} is not installed")
    f()


def run_all():
    """Runs all programs, also after one that fails; the scripts read the last line, "N passed, N failed[, N
    skipped]"."""
    failed = skipped = 0
    for f, modules in PROGRAMS:
        try:
            run_one(f, modules)
        except Skipped as reason:
            skipped += 1
            print(f"skipped: {f.__name__} with JAX {jax.__version__}: {reason}")
        except Exception:
            failed += 1
            print("FAILED:", f.__name__)
            traceback.print_exc()
    print(f"{len(PROGRAMS) - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
