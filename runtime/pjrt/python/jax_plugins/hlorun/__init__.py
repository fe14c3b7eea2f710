"""The plugin of hlorun for JAX: registers libpjrt_hlorun.so, and starts the command hlorun of this package.

JAX finds it by itself (entry point "jax_plugins"); JAX_PLATFORMS=hlorun chooses it where there are several platforms.
"""
import ctypes
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = os.path.join(FOLDER, "libs")


def library_path():
    """The plugin's file."""
    return os.path.join(FOLDER, "libpjrt_hlorun.so")


def _load_libraries():
    """Libraries that those of the package need themselves; what is missing is the system's."""
    for name in ("libudev.so.1", "libcap.so.2", "libquadmath.so.0", "libgfortran.so.5"):
        path = os.path.join(LIBRARIES, name)
        if os.path.exists(path):
            try:
                ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            except OSError:
                pass


def initialize():
    """Called by JAX."""
    from jax._src import xla_bridge

    _load_libraries()
    xla_bridge.register_plugin("hlorun", priority=500, library_path=library_path())


def main():
    """The command hlorun."""
    command = os.path.join(FOLDER, "bin", "hlorun")
    path = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = LIBRARIES + (os.pathsep + path if path else "")
    os.environ.setdefault("HLORUN_MODULE_DIR", FOLDER)
    os.execv(command, [command, *sys.argv[1:]])
