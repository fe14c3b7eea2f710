"""The shared library libhlorun.so: how it is found and opened, its functions and structs by ctypes, and
its failures as exceptions."""

import ctypes
import ctypes.util
import importlib
import os

_FILES = ("libhlorun.so.0", "libhlorun.so")


class Error(Exception):
    """A failure of the library. `exit_code`: 1 mismatch, 2 usage, 3 invalid program, 4 processes
    disagree, 5 a peer or a file failed, 6 timed out. `report`: location, message and notes, which
    are what str() gives; `message`: the message alone."""

    __module__ = "hlorun"  # its public name, which tracebacks show

    def __init__(self, message, exit_code, report):
        super().__init__(message, exit_code, report)
        self.message = message
        self.exit_code = exit_code
        self.report = report

    def __str__(self):
        return self.report.removeprefix("error: ").rstrip() or self.message


def _candidates():
    """Paths and names under which the library may be, in the order in which they are tried."""
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
    """The library. A wheel's copy needs the libraries beside it, which the JAX plugin loads."""
    reasons = []
    for path in _candidates():
        try:
            if os.path.basename(os.path.dirname(os.path.dirname(path))) == "jax_plugins":
                importlib.import_module("jax_plugins.hlorun").load_libraries()
            return ctypes.CDLL(path)
        except OSError as reason:
            reasons.append(str(reason))
    raise ImportError("libhlorun.so cannot be opened; set HLORUN_LIBRARY to its path: " + "; ".join(reasons))


Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
Pointer = ctypes.c_void_p

# Room after the fields, for those that a later library adds: its init function says how many bytes it fills.
_ROOM = ("room", ctypes.c_char * 1024)


class ClientOptions(ctypes.Structure):
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


class ProgramOptions(ctypes.Structure):
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
    "status_exit_code": (ctypes.c_int, [Pointer]),
    "status_message": (ctypes.c_char_p, [Pointer]),
    "status_format": (Pointer, [Pointer]),
    "status_release": (None, [Pointer]),
    "version": (ctypes.c_char_p, []),
    "client_options_init": (None, [Pointer]),
    "client_create": (Pointer, [Pointer, Pointer]),
    "clients_create_local": (Pointer, [Pointer, ctypes.c_int, Pointer]),
    "client_release": (None, [Pointer, ctypes.c_int]),
    "client_rank": (ctypes.c_int, [Pointer]),
    "client_world_size": (ctypes.c_int, [Pointer]),
    "client_cancel": (None, [Pointer, ctypes.c_char_p]),
    "client_resume": (Pointer, [Pointer]),
    "client_barrier": (Pointer, [Pointer]),
    "client_trace": (Pointer, [Pointer, Pointer]),
    "client_explain": (Pointer, [Pointer, Pointer]),
    "client_explain_json": (Pointer, [Pointer, Pointer]),
    "program_options_init": (None, [Pointer]),
    "program_load": (Pointer, [Pointer, ctypes.c_char_p, Pointer, Pointer]),
    "program_load_bytes": (Pointer, [Pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, Pointer, Pointer]),
    "program_release": (None, [Pointer]),
    "program_num_replicas": (ctypes.c_int, [Pointer]),
    "program_num_partitions": (ctypes.c_int, [Pointer]),
    "program_param_count": (ctypes.c_int, [Pointer]),
    "program_result_count": (ctypes.c_int, [Pointer]),
    "program_param_name": (ctypes.c_char_p, [Pointer, ctypes.c_int]),
    "program_param_shape": (ctypes.c_char_p, [Pointer, ctypes.c_int]),
    "program_result_shape": (ctypes.c_char_p, [Pointer, ctypes.c_int]),
    "buffer_create": (Pointer, [ctypes.c_char_p, ctypes.c_int, Pointer, Pointer, Release, Pointer, Pointer]),
    "buffer_retain": (Pointer, [Pointer]),
    "buffer_release": (None, [Pointer]),
    "buffer_dtype": (ctypes.c_char_p, [Pointer]),
    "buffer_rank": (ctypes.c_int, [Pointer]),
    "buffer_dims": (ctypes.POINTER(ctypes.c_int64), [Pointer]),
    "buffer_data": (Pointer, [Pointer]),
    "execute": (Pointer, [Pointer, Pointer, Pointer, Pointer]),
    "execute_start": (Pointer, [Pointer, Pointer, Pointer, Pointer]),
    "execution_is_done": (ctypes.c_bool, [Pointer]),
    "execution_await": (Pointer, [Pointer, Pointer]),
    "execution_release": (None, [Pointer]),
}


class Library:
    def __init__(self):
        handle = _open()
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(handle, "hlorun_" + name)
            function.restype = result
            function.argtypes = arguments
            setattr(self, name, function)


lib = Library()
_free = ctypes.CDLL(None).free
_free.argtypes = [Pointer]
_free.restype = None


def take_text(pointer):
    text = ctypes.string_at(pointer).decode(errors="replace") if pointer else ""
    _free(pointer)
    return text


def check(status):
    if not status:
        return
    message = lib.status_message(status).decode(errors="replace")
    exit_code = lib.status_exit_code(status)
    report = take_text(lib.status_format(status))
    lib.status_release(status)
    raise Error(message, exit_code, report)
