"""The plugin of hlorun for JAX: registers libpjrt_hlorun.so, and starts the command hlorun of this package.

JAX finds it by itself (entry point "jax_plugins"). It comes before JAX's own CPU; JAX_PLATFORMS=hlorun refuses any
other.
"""
import ctypes
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
INSTALLED = ("/usr/lib/hlorun", "/usr/local/lib/hlorun")  # of a package of the system


def library_path():
    """The plugin's file: in this folder, as a wheel has it, or where the system has it."""
    paths = [os.path.join(folder, "libpjrt_hlorun.so") for folder in (FOLDER, *INSTALLED)]
    return next((path for path in paths if os.path.exists(path)), paths[0])


def load_libraries():
    """Loads what a wheel's other libraries need, so that they find it; nothing outside of a wheel."""
    libraries = os.path.join(FOLDER, "libs")
    order = os.path.join(libraries, "order.txt")
    if os.path.exists(order):
        with open(order, encoding="ascii") as file:
            for name in file.read().split():
                ctypes.CDLL(os.path.join(libraries, name))


def initialize():
    """Called by JAX. A plugin that the environment names, as `hlorun python` does, is left to JAX: it takes one of a
    name."""
    from jax._src import xla_bridge

    load_libraries()
    named = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "")
    if any(item.startswith(("hlorun:", "hlorun;")) for item in named.split(",")):
        return
    xla_bridge.register_plugin("hlorun", priority=500, library_path=library_path())


def main():
    """The command hlorun."""
    command = os.path.join(FOLDER, "hlorun")
    os.execv(command, [command, *sys.argv[1:]])
