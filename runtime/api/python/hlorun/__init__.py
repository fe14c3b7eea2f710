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
import ctypes.util
import importlib
import itertools
import json
import os
import re

import numpy as np

__all__ = ["Client", "Error", "Execution", "Grid", "Program", "load", "version"]

_FILES = ("libhlorun.so.0", "libhlorun.so")


class Error(Exception):
    """A failure of the library. `exit_code`: 1 mismatch, 2 usage, 3 invalid program, 4 processes
    disagree, 5 a peer or a file failed, 6 timed out. `report`: location, message and notes."""

    def __init__(self, message, exit_code, report):
        super().__init__(message)
        self.exit_code = exit_code
        self.report = report


# --- the library ---


def _candidates():
    if os.environ.get("HLORUN_LIBRARY"):
        yield os.environ["HLORUN_LIBRARY"]
        return
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (here, os.path.join(here, "lib"), os.path.join(here, "..", "jax_plugins", "hlorun")):
        for name in _FILES:
            path = os.path.join(folder, name)
            if os.path.exists(path):
                yield path
    found = ctypes.util.find_library("hlorun")
    if found:
        yield found
    yield from _FILES


def _open():
    reasons = []
    for path in _candidates():
        try:
            if os.path.basename(os.path.dirname(os.path.dirname(path))) == "jax_plugins":
                importlib.import_module("jax_plugins.hlorun").load_libraries()
            return ctypes.CDLL(path)
        except OSError as reason:
            reasons.append(str(reason))
    raise ImportError("libhlorun.so cannot be opened; set HLORUN_LIBRARY to its path: " + "; ".join(reasons))


_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_Pointer = ctypes.c_void_p

# Room behind the fields, for those that a later library adds: its init function says how many bytes it fills.
_ROOM = ("room", ctypes.c_char * 1024)


class _ClientOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("world", ctypes.c_int),
        ("threads", ctypes.c_int),
        ("bind", ctypes.c_int),
        ("timeout_s", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("engine", ctypes.c_int),
        ("trace", ctypes.c_bool),
        ("trace_events", ctypes.c_size_t),
        ("flush_denormals", ctypes.c_bool),
        _ROOM,
    ]


class _ProgramOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("num_replicas", ctypes.c_int),
        ("num_partitions", ctypes.c_int),
        ("mpmd", ctypes.c_bool),
        ("unproved", ctypes.c_bool),
        ("verify_comm", ctypes.c_bool),
        ("infeed", ctypes.c_char_p),
        ("outfeed", ctypes.c_char_p),
        ("probe", ctypes.c_char_p),
        ("probe_dir", ctypes.c_char_p),
        _ROOM,
    ]


# name: (result, arguments); functions of a status are listed as None.
_FUNCTIONS = {
    "status_exit_code": (ctypes.c_int, [_Pointer]),
    "status_message": (ctypes.c_char_p, [_Pointer]),
    "status_format": (_Pointer, [_Pointer]),
    "status_release": (None, [_Pointer]),
    "version": (ctypes.c_char_p, []),
    "client_options_init": (None, [_Pointer]),
    "client_create": (_Pointer, [_Pointer, _Pointer]),
    "clients_create_local": (_Pointer, [_Pointer, ctypes.c_int, _Pointer]),
    "client_release": (None, [_Pointer, ctypes.c_int]),
    "client_rank": (ctypes.c_int, [_Pointer]),
    "client_world_size": (ctypes.c_int, [_Pointer]),
    "client_cancel": (None, [_Pointer, ctypes.c_char_p]),
    "client_resume": (_Pointer, [_Pointer]),
    "client_barrier": (_Pointer, [_Pointer]),
    "client_trace": (_Pointer, [_Pointer, _Pointer]),
    "client_explain": (_Pointer, [_Pointer, _Pointer]),
    "client_explain_json": (_Pointer, [_Pointer, _Pointer]),
    "program_options_init": (None, [_Pointer]),
    "program_load": (_Pointer, [_Pointer, ctypes.c_char_p, _Pointer, _Pointer]),
    "program_load_bytes": (_Pointer, [_Pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, _Pointer, _Pointer]),
    "program_release": (None, [_Pointer]),
    "program_num_replicas": (ctypes.c_int, [_Pointer]),
    "program_num_partitions": (ctypes.c_int, [_Pointer]),
    "program_param_count": (ctypes.c_int, [_Pointer]),
    "program_result_count": (ctypes.c_int, [_Pointer]),
    "program_param_name": (ctypes.c_char_p, [_Pointer, ctypes.c_int]),
    "program_param_shape": (ctypes.c_char_p, [_Pointer, ctypes.c_int]),
    "program_result_shape": (ctypes.c_char_p, [_Pointer, ctypes.c_int]),
    "buffer_create": (_Pointer, [ctypes.c_char_p, ctypes.c_int, _Pointer, _Pointer, _Release, _Pointer, _Pointer]),
    "buffer_retain": (_Pointer, [_Pointer]),
    "buffer_release": (None, [_Pointer]),
    "buffer_dtype": (ctypes.c_char_p, [_Pointer]),
    "buffer_rank": (ctypes.c_int, [_Pointer]),
    "buffer_dims": (ctypes.POINTER(ctypes.c_int64), [_Pointer]),
    "buffer_data": (_Pointer, [_Pointer]),
    "execute": (_Pointer, [_Pointer, _Pointer, _Pointer, _Pointer]),
    "execute_start": (_Pointer, [_Pointer, _Pointer, _Pointer, _Pointer]),
    "execution_is_done": (ctypes.c_bool, [_Pointer]),
    "execution_await": (_Pointer, [_Pointer, _Pointer]),
    "execution_release": (None, [_Pointer]),
}


class _Library:
    def __init__(self):
        handle = _open()
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(handle, "hlorun_" + name)
            function.restype = result
            function.argtypes = arguments
            setattr(self, name, function)


_lib = _Library()
_free = ctypes.CDLL(None).free
_free.argtypes = [_Pointer]
_free.restype = None


def version():
    """The library's version, such as "1.2.0"."""
    return _lib.version().decode()


__version__ = version()


def _take_text(pointer):
    text = ctypes.string_at(pointer).decode(errors="replace") if pointer else ""
    _free(pointer)
    return text


def _check(status):
    if not status:
        return
    message = _lib.status_message(status).decode(errors="replace")
    exit_code = _lib.status_exit_code(status)
    report = _take_text(_lib.status_format(status))
    _lib.status_release(status)
    raise Error(message, exit_code, report)


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


@_Release
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
            "data": (_lib.buffer_data(buffer) or 0, True),
        }

    def __del__(self):
        _lib.buffer_release(self.buffer)


def _to_numpy(buffer):
    """The array over the library's memory, read-only; None for a token. Takes over the reference."""
    name = _lib.buffer_dtype(buffer).decode()
    if name == "token":
        _lib.buffer_release(buffer)
        return None
    dtype = numpy_dtype(name)
    dims = _lib.buffer_dims(buffer)
    shape = tuple(dims[d] for d in range(_lib.buffer_rank(buffer)))
    owner = _Owner(buffer, dtype, shape)
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(owner).view(dtype).reshape(shape)


def _from_numpy(array, shape):
    """A buffer over the array's memory; it is copied only if it is not dense, row-major and aligned."""
    want = numpy_dtype(shape.name)
    array = np.asarray(array)
    if array.dtype != want:
        if array.dtype.kind == "V" and array.dtype.itemsize == want.itemsize:
            array = array.view(want)
        elif array.dtype.kind in "biufc" and array.ndim == 0 or np.can_cast(array.dtype, want, "safe"):
            array = array.astype(want)
        else:
            raise TypeError(f"array of {array.dtype}, the program has {shape.text} ({want}): use .astype({want})")
    array = np.require(array, requirements=["C", "A"])
    dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    made = _Pointer()
    context = next(_contexts)
    _borrowed[context] = array
    status = _lib.buffer_create(
        shape.name.encode(), array.ndim, dims, array.ctypes.data, _drop_array, context, ctypes.byref(made))
    if status:
        _borrowed.pop(context, None)
    _check(status)
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
        return _lib.execution_is_done(self._handle)

    def result(self):
        results = (_Pointer * max(len(self._program.results), 1))()
        _check(_lib.execution_await(self._handle, results))
        return self._program._returned(results)

    def __del__(self):
        _lib.execution_release(self._handle)


class Program:
    """A compiled program. Called with one array for each parameter, by position or by name; gives a
    tuple of arrays, or the array alone if the program has one result. The results are read-only
    views of the library's memory."""

    def __init__(self, client, handle):
        self.client = client
        self._handle = handle
        self.num_replicas = _lib.program_num_replicas(handle)
        self.num_partitions = _lib.program_num_partitions(handle)
        count = range(_lib.program_param_count(handle))
        self.names = [_lib.program_param_name(handle, k).decode() for k in count]
        self.params = [_Shape(_lib.program_param_shape(handle, k).decode()) for k in count]
        count = range(_lib.program_result_count(handle))
        self.results = [_Shape(_lib.program_result_shape(handle, k).decode()) for k in count]

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
        buffers = (_Pointer * max(len(self.params), 1))()
        try:
            for k, shape in enumerate(self.params):
                buffers[k] = _from_numpy(given[k], shape) if shape.is_array else None
            _check(function(self._handle, buffers, None, out))
        finally:
            for buffer in buffers:
                _lib.buffer_release(buffer)

    def _returned(self, results):
        arrays = tuple(_to_numpy(results[r]) for r in range(len(self.results)))
        return arrays[0] if len(arrays) == 1 else arrays

    def __call__(self, *arrays, **named):
        results = (_Pointer * max(len(self.results), 1))()
        self._call(_lib.execute, arrays, named, results)
        return self._returned(results)

    def start(self, *arrays, **named):
        """Starts an execution and returns at once. The arrays must not change until it has ended."""
        started = _Pointer()
        self._call(_lib.execute_start, arrays, named, ctypes.byref(started))
        return Execution(self, started.value)

    def __del__(self):
        _lib.program_release(self._handle)


class Client:
    """One rank of the grid: its peers, memory and worker threads.

    threads: workers (0: this process's share of the cores); engine: "compiled" or "reference";
    timeout_s: seconds without progress after which executions fail; trace: record times for
    explain() and trace(); alone: no peers, whatever the launcher says."""

    def __init__(self, threads=0, engine=None, timeout_s=0.0, seed=0, trace=False, alone=False, _handle=None):
        self._handle = _handle
        if _handle is None:
            made = _Pointer()
            options = _client_options(threads, engine, timeout_s, seed, trace, 1 if alone else 0)
            _check(_lib.client_create(ctypes.byref(options), ctypes.byref(made)))
            self._handle = made.value
        self.rank = _lib.client_rank(self._handle)
        self.world_size = _lib.client_world_size(self._handle)

    def load(self, program, name="program", num_replicas=0, num_partitions=0, verify_comm=False, mpmd=False):
        """A program from a file (a path), or from its text or bytes."""
        options = _ProgramOptions()
        _lib.program_options_init(ctypes.byref(options))
        options.num_replicas, options.num_partitions = num_replicas, num_partitions
        options.verify_comm, options.mpmd = verify_comm, mpmd
        made = _Pointer()
        is_text = isinstance(program, str) and ("\n" in program or "{" in program)
        if is_text or isinstance(program, (bytes, bytearray, memoryview)):
            content = program.encode() if is_text else bytes(program)
            status = _lib.program_load_bytes(
                self._handle, name.encode(), content, len(content), ctypes.byref(options), ctypes.byref(made))
        else:
            status = _lib.program_load(self._handle, os.fsencode(program), ctypes.byref(options), ctypes.byref(made))
        _check(status)
        return Program(self, made.value)

    def barrier(self):
        _check(_lib.client_barrier(self._handle))

    def cancel(self, reason="cancelled"):
        """Ends executions under way, and later ones, with an error until resume()."""
        _lib.client_cancel(self._handle, reason.encode())

    def resume(self):
        _check(_lib.client_resume(self._handle))

    def explain(self):
        """Where the time went: a dict with "kernels", by time."""
        text = _Pointer()
        _check(_lib.client_explain_json(self._handle, ctypes.byref(text)))
        return json.loads(_take_text(text))

    def trace(self):
        """The timeline of all ranks as JSON for ui.perfetto.dev on rank 0, None on others. Collective."""
        text = _Pointer()
        _check(_lib.client_trace(self._handle, ctypes.byref(text)))
        return _take_text(text) if text else None

    def __del__(self):
        if self._handle:
            _lib.client_release(self._handle, 0)


def _client_options(threads, engine, timeout_s, seed, trace, world):
    engines = {None: 0, "reference": 1, "compiled": 2}
    if engine not in engines:
        raise ValueError(f"engine {engine!r}: want 'compiled' or 'reference'")
    options = _ClientOptions()
    _lib.client_options_init(ctypes.byref(options))
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
        handles = (_Pointer * max(size, 1))()
        options = _client_options(threads, engine, timeout_s, seed, False, 2)
        _check(_lib.clients_create_local(ctypes.byref(options), size, handles))
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
