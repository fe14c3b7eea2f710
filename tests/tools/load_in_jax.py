#!/usr/bin/env python3
"""Files that hlorun writes, loaded by JAX and run on XLA:CPU: load_in_jax.py < LIST

Each line of the list is a file, and beside it, if it is to be run, the .npz with its arrays (in0 ..., out0 ...):
text, bytecode (X.mlirbc), portable artifacts (X.p.mlirbc), HLO protos (X.pb) and HLO text. One process does them all.
Prints what fails, and "N passed, N failed" at the end; exit code 77 where JAX is not installed.
"""
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
try:
    import jax
    import jaxlib.mlir.dialects.stablehlo as stablehlo
    import ml_dtypes
    import numpy as np
    from jaxlib import lapack
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
except ImportError:
    sys.exit(77)

jax.config.update("jax_enable_x64", True)
lapack.prepare_lapack_call("getrf_ffi",
                           np.dtype("float32"))  # JAX's own lowering fills XLA's table of LAPACK's functions
CONTEXT = mlir.make_ir_context()
CLIENT = jax.devices()[0].client
DEVICES = xla_client.DeviceList(tuple(jax.devices()[:1]))
OPTIONS = compiler.get_compile_options(1, 1)
NARROW = {"bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E4M3": "float8_e4m3",
          "f8E3M4": "float8_e3m4", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz", "f8E4M3FNUZ": "float8_e4m3fnuz",
          "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E8M0FNU": "float8_e8m0fnu", "f4E2M1FN": "float4_e2m1fn"}


def load(path):
    """The program as a module of MLIR, verified."""
    data = open(path, "rb").read()
    with CONTEXT:
        if path.endswith(".p.mlirbc"):
            return stablehlo.deserialize_portable_artifact(CONTEXT, data)
        if path.endswith(".mlirbc") or path.endswith(".mlir"):
            return ir.Module.parse(data if path.endswith("bc") else data.decode())
        if not path.endswith(".pb"):
            data = xla_client.hlo.hlo_module_from_text(data.decode()).as_serialized_hlo_module_proto()
        text = xla_client._xla.mlir.xla_computation_to_mlir_module(xla_client.XlaComputation(data))
        return ir.Module.parse(text)


def dtype_of(element):
    word = str(element)
    if word in NARROW:
        return np.dtype(getattr(ml_dtypes, NARROW[word]))
    if word.startswith("complex"):
        return np.dtype("complex64" if "f32" in word else "complex128")
    if word[0] == "f":
        return np.dtype("float" + word[1:])
    bits = int(word.lstrip("usi"))
    kind = "uint" if word[0] == "u" else "int"
    if bits == 1:
        return np.dtype(bool)
    return np.dtype(getattr(ml_dtypes, f"{kind}{bits}")) if bits < 8 else np.dtype(f"{kind}{bits}")


def as_type(array, dtype):
    return array.view(dtype) if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize else array.astype(dtype)


def arguments(module, arrays):
    """The program's parameters; raw bytes take the program's types."""
    main = [op for op in module.body.operations
            if "sym_name" in op.attributes and str(op.attributes["sym_name"]) == '"main"'][0]
    types = [ir.RankedTensorType(a.type).element_type for a in main.arguments]
    return [jax.device_put(as_type(arrays[f"in{i}"], dtype_of(t))) for i, t in enumerate(types)]


def compare(number, got, want):
    want = as_type(want, got.dtype)
    if got.dtype.kind in "biu":
        same = np.array_equal(got, want)
    else:
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        tolerance = 2e-2 if got.dtype.itemsize <= 2 else 1e-4
        a, b = got.astype(wide), want.astype(wide)
        most = np.max(np.abs(b[np.isfinite(b)]), initial=0)
        same = np.allclose(a, b, rtol=tolerance, atol=tolerance * most, equal_nan=True)
    if not same:
        raise ValueError(f"result {number} differs")


def run(module, npz):
    arrays = np.load(npz)
    with CONTEXT:
        program = CLIENT.compile_and_load(module, DEVICES, OPTIONS)
        results = program.execute_sharded(arguments(module, arrays)).disassemble_into_single_device_arrays()
    for number, result in enumerate(results):
        compare(number, np.asarray(result[0]), arrays[f"out{number}"])


def main():
    passed = failed = 0
    for line in sys.stdin:
        path, *npz = line.split()
        try:
            module = load(path)
            module.operation.verify()
            if npz:
                run(module, npz[0])
            passed += 1
        except Exception as error:  # whatever JAX raises is what is to be told
            failed += 1
            print(f"{path}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
