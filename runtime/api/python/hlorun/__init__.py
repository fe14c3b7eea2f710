"""Runs XLA HLO and StableHLO programs on CPUs, with NumPy arrays that are not copied.

    import hlorun
    f = hlorun.load("f.hlo")
    y, z = f(x, w)                    # in the order of the parameters
    y, z = f(x, weights=w)            # or by their names

Under `mpirun -n 8 python script.py` each process is one rank of the grid, and the program's
collectives travel between them; `hlorun.Grid(8)` has the ranks as threads of this process.
The library libhlorun.so is looked for in HLORUN_LIBRARY, in this folder and that of a wheel's other
files, and where the system has its libraries. Failures are hlorun.Error.
"""

import atexit
import concurrent.futures
import ctypes
import itertools
import json
import operator
import os
import re

import numpy as np

from ._library import ClientOptions, Error, Pointer, ProgramOptions, Release, check, lib, take_text

__all__ = ["Client", "Error", "Execution", "Grid", "Program", "load", "version"]


def version():
    """The library's version, such as "1.2.0"."""
    return lib.version().decode()


__version__ = version()


# --- types ---

_NAMES = {
    "pred": "bool",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("s", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}
# Types that ml_dtypes has, if it is installed; else their arrays are raw bytes of the same width.
_EXTRA = {
    "bf16": "bfloat16",
    "s2": "int2",
    "s4": "int4",
    "u2": "uint2",
    "u4": "uint4",
    **{f"f{name}": f"float{name[0]}_{name[1:]}" for name in (
        "4e2m1fn", "6e2m3fn", "6e3m2fn", "8e3m4", "8e4m3", "8e4m3fn", "8e4m3b11fnuz", "8e4m3fnuz", "8e5m2",
        "8e5m2fnuz", "8e8m0fnu")},
}


def numpy_dtype(name):
    """NumPy's type for an element type of HLO."""
    if name in _NAMES:
        return np.dtype(_NAMES[name])
    if name not in _EXTRA:
        raise ValueError(f"there are no arrays of type {name}")
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _EXTRA[name]))
    except (ImportError, AttributeError):
        return np.dtype("V2" if name == "bf16" else "V1")


class _Shape:
    """ "f32[2,<=3]" taken apart: type, and sizes with None for those that vary. """

    def __init__(self, text):
        name, _, sizes = text.partition("[")
        self.text = text
        self.name = name
        self.is_array = bool(_)
        self.dims = [int(size) if size.isdigit() else None for size in sizes.rstrip("]").split(",") if size]


# --- arrays ---

_borrowed = {}  # by context: arrays that the library uses
_contexts = itertools.count(1)


@Release
def _drop_array(context, _data, _size):
    _borrowed.pop(context, None)


class _Owner:
    """Memory of a result: keeps the library's buffer while NumPy arrays look at it."""

    def __init__(self, buffer, dtype, shape):
        self.buffer = buffer
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{dtype.itemsize}",
            "shape": shape,
            "data": (lib.buffer_data(buffer) or 0, True),
        }

    def __del__(self):
        lib.buffer_release(self.buffer)


def _to_numpy(buffer):
    """The array over the library's memory, read-only; None for a token. Takes over the reference."""
    name = lib.buffer_dtype(buffer).decode()
    if name == "token":
        lib.buffer_release(buffer)
        return None
    dtype = numpy_dtype(name)
    dims = lib.buffer_dims(buffer)
    shape = tuple(dims[d] for d in range(lib.buffer_rank(buffer)))
    owner = _Owner(buffer, dtype, shape)
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(owner).view(dtype).reshape(shape)


def _from_numpy(array, shape, parameter):
    """A buffer over the array's memory; it is copied only if it is not dense, row-major and aligned."""
    want = numpy_dtype(shape.name)
    array = np.asarray(array)
    if array.dtype != want:
        if array.dtype.kind == "V" and array.dtype.itemsize == want.itemsize:
            array = array.view(want)
        elif array.dtype.kind in "biufc" and array.ndim == 0 or np.can_cast(array.dtype, want, "safe"):
            array = array.astype(want)
        else:
            raise TypeError(f"{parameter}: found an array of {array.dtype}, want {shape.text} ({want}): "
                            f"use .astype({want})")
    array = np.require(array, requirements=["C", "A"])
    dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    made = Pointer()
    context = next(_contexts)
    _borrowed[context] = array
    status = lib.buffer_create(
        shape.name.encode(), array.ndim, dims, array.ctypes.data, _drop_array, context, ctypes.byref(made))
    if status:
        _borrowed.pop(context, None)
    check(status)
    return made.value


# --- programs ---


def _normal(name):
    return re.sub(r"\W", "_", re.sub(r"\.\d+$", "", name.lstrip("%")))


class Execution:
    """An execution that was started; `result()` waits for it."""

    def __init__(self, program, handle):
        self._program = program
        self._handle = handle

    def done(self):
        return lib.execution_is_done(self._handle)

    def result(self):
        results = (Pointer * max(len(self._program.results), 1))()
        check(lib.execution_await(self._handle, results))
        return self._program._returned(results)

    def __del__(self):
        lib.execution_release(self._handle)


class Program:
    """A compiled program. Called with one array for each parameter, by position or by name; gives a
    tuple of arrays, or the array alone if the program has one result. The results are read-only
    views of the library's memory."""

    def __init__(self, client, handle):
        self.client = client
        self._handle = handle
        self.num_replicas = lib.program_num_replicas(handle)
        self.num_partitions = lib.program_num_partitions(handle)
        count = range(lib.program_param_count(handle))
        self.names = [lib.program_param_name(handle, k).decode() for k in count]
        self.params = [_Shape(lib.program_param_shape(handle, k).decode()) for k in count]
        count = range(lib.program_result_count(handle))
        self.results = [_Shape(lib.program_result_shape(handle, k).decode()) for k in count]

    def __repr__(self):
        params = ", ".join(f"{name}: {shape.text}" for name, shape in zip(self.names, self.params))
        return f"<hlorun.Program ({params}) -> ({', '.join(shape.text for shape in self.results)})>"

    def _index(self, name):
        found = [k for k, own in enumerate(self.names) if name == own or _normal(name) == _normal(own)]
        if len(found) != 1:
            raise TypeError(f"no parameter {name}; the program has {', '.join(self.names)}")
        return found[0]

    def _arguments(self, arrays, named):
        given = dict(enumerate(arrays))
        for name, array in named.items():
            k = self._index(name)
            if k in given:
                raise TypeError(f"parameter {k} ({name}) is given twice")
            given[k] = array
        wanted = {k for k, shape in enumerate(self.params) if shape.is_array}
        missing, extra = wanted - given.keys(), given.keys() - set(range(len(self.params)))
        if missing or extra:
            raise TypeError(f"found {len(given)} arguments, want {len(wanted)}: {self!r}")
        return given

    def _call(self, function, arrays, named, out):
        given = self._arguments(arrays, named)
        buffers = (Pointer * max(len(self.params), 1))()
        try:
            for k, shape in enumerate(self.params):
                if shape.is_array:
                    buffers[k] = _from_numpy(given[k], shape, f"parameter {k} ({self.names[k]})")
            check(function(self._handle, buffers, None, out))
        finally:
            for buffer in buffers:
                lib.buffer_release(buffer)

    def _returned(self, results):
        arrays = tuple(_to_numpy(results[r]) for r in range(len(self.results)))
        return arrays[0] if len(arrays) == 1 else arrays

    def __call__(self, *arrays, **named):
        results = (Pointer * max(len(self.results), 1))()
        self._call(lib.execute, arrays, named, results)
        return self._returned(results)

    def start(self, *arrays, **named):
        """Starts an execution and returns at once. The arrays must not change until it has ended."""
        started = Pointer()
        self._call(lib.execute_start, arrays, named, ctypes.byref(started))
        return Execution(self, started.value)

    def __del__(self):
        lib.program_release(self._handle)


class Client:
    """One rank of the grid: its peers, memory and worker threads.

    threads: workers (0: this process's share of the cores); engine: "compiled" or "reference";
    timeout_s: seconds without progress after which executions fail; trace: record times for
    explain() and trace(); alone: no peers, whatever the launcher says."""

    _handle = None  # also of an object whose __init__ failed

    def __init__(self, threads=0, engine=None, timeout_s=0.0, seed=0, trace=False, alone=False, _handle=None):
        self._handle = _handle
        if _handle is None:
            made = Pointer()
            options = _client_options(threads, engine, timeout_s, seed, trace, 1 if alone else 0)
            check(lib.client_create(ctypes.byref(options), ctypes.byref(made)))
            self._handle = made.value
        self.rank = lib.client_rank(self._handle)
        self.world_size = lib.client_world_size(self._handle)

    def load(self, program, name="program", num_replicas=0, num_partitions=0, verify_comm=False, mpmd=False):
        """A program from a file (a path), or from its text or bytes."""
        options = ProgramOptions()
        lib.program_options_init(ctypes.byref(options))
        options.num_replicas, options.num_partitions = num_replicas, num_partitions
        options.verify_comm, options.mpmd = verify_comm, mpmd
        made = Pointer()
        is_text = isinstance(program, str) and ("\n" in program or "{" in program)
        if is_text or isinstance(program, (bytes, bytearray, memoryview)):
            content = program.encode() if is_text else bytes(program)
            status = lib.program_load_bytes(
                self._handle, name.encode(), content, len(content), ctypes.byref(options), ctypes.byref(made))
        else:
            status = lib.program_load(self._handle, os.fsencode(program), ctypes.byref(options), ctypes.byref(made))
        check(status)
        return Program(self, made.value)

    def barrier(self):
        check(lib.client_barrier(self._handle))

    def cancel(self, reason="cancelled"):
        """Ends executions under way, and later ones, with an error until resume()."""
        lib.client_cancel(self._handle, reason.encode())

    def resume(self):
        check(lib.client_resume(self._handle))

    def explain(self):
        """Where the time went: a dict with "kernels", by time."""
        text = Pointer()
        check(lib.client_explain_json(self._handle, ctypes.byref(text)))
        return json.loads(take_text(text))

    def trace(self):
        """The timeline of all ranks as JSON for ui.perfetto.dev on rank 0, None on others. Collective."""
        text = Pointer()
        check(lib.client_trace(self._handle, ctypes.byref(text)))
        return take_text(text) if text else None

    def __del__(self):
        if self._handle:
            lib.client_release(self._handle, 0)


def _client_options(threads, engine, timeout_s, seed, trace, world):
    engines = {None: 0, "reference": 1, "compiled": 2}
    if engine not in engines:
        raise ValueError(f"engine {engine!r}: want 'compiled' or 'reference'")
    options = ClientOptions()
    lib.client_options_init(ctypes.byref(options))
    options.world, options.threads, options.engine = world, threads, engines[engine]
    options.timeout_s, options.seed, options.trace = timeout_s, seed, trace
    return options


class Grid:
    """A grid of `size` ranks within this process, each with a thread of its own.

        grid = hlorun.Grid(4)
        step = grid.load("step.hlo")
        results = step([(x0, w), (x1, w), (x2, w), (x3, w)])   # arguments by rank
    """

    def __init__(self, size, threads=1, engine=None, timeout_s=0.0, seed=0):
        size = operator.index(size)
        handles = (Pointer * max(size, 1))()
        options = _client_options(threads, engine, timeout_s, seed, False, 2)
        check(lib.clients_create_local(ctypes.byref(options), size, handles))
        self.clients = [Client(_handle=handles[rank]) for rank in range(size)]
        self._threads = concurrent.futures.ThreadPoolExecutor(size)

    def each(self, function):
        """function(client) on every rank at a time; the results by rank."""
        futures = [self._threads.submit(function, client) for client in self.clients]
        concurrent.futures.wait(futures)
        return [future.result() for future in futures]

    def load(self, program, **options):
        programs = self.each(lambda client: client.load(program, **options))

        def run(arguments):
            if len(arguments) != len(programs):
                raise TypeError(f"found arguments for {len(arguments)} ranks, want {len(programs)}")
            return self.each(lambda client: programs[client.rank](*arguments[client.rank]))

        return run


_default = None


def _default_client():
    global _default
    if _default is None:
        _default = Client()
    return _default


@atexit.register
def _forget_default():
    global _default
    _default = None


def load(program, **options):
    """A program on this process's client, which is made by the first call."""
    return _default_client().load(program, **options)
