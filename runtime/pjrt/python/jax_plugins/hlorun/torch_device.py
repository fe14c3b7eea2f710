"""hlorun as a device of PyTorch/XLA: torch_xla finds it by itself (entry point "torch_xla.plugins") under
PJRT_DEVICE=HLORUN.

As many devices as HLORUN_DEVICES says, or those of all processes of `hlorun -n`, are one mesh of
torch_xla.distributed.spmd.
"""
from torch_xla.experimental import plugins

from jax_plugins import hlorun


class Device(plugins.DevicePlugin):
    def library_path(self):
        hlorun.load_libraries()
        return hlorun.library_path()

    def configure_single_process(self):
        """Nothing to configure: without `hlorun -n` a process is alone."""
