"""Python runs this when it starts under `hlorun -n N`: jax.distributed.initialize() without arguments then works.

hlorun's processes need no coordinator. Programs that ask JAX for one get it: JAX looks for the kind of cluster that
it runs on among the subclasses of ClusterEnv, and here is one more. Orbax, which needs one and does not ask, gets it
when all processes import it. Nothing is imported for that: functions are called when modules are loaded. The
coordinator's address is in JAX_COORDINATOR_ADDRESS, which the command sets.
"""
import importlib.machinery
import importlib.util
import os
import sys

CLUSTERS = "jax._src.clusters"
ORBAX_PROCESSES = "orbax.checkpoint._src.multihost.multihost"


def add_cluster(module):
    """The first in JAX's list: hlorun's processes may be started inside of another cluster's job."""
    class HlorunCluster(module.ClusterEnv):
        name = "hlorun"

        @classmethod
        def is_env_present(cls):
            return "HLORUN_LAUNCHED" in os.environ

        @classmethod
        def get_coordinator_address(cls, timeout_secs=None, override_coordinator_port=None):
            host, port = os.environ["JAX_COORDINATOR_ADDRESS"].rsplit(":", 1)
            return f"{host}:{override_coordinator_port or port}"

        @classmethod
        def get_process_count(cls):
            return int(os.environ["HLORUN_LAUNCHED"].split()[0])

        @classmethod
        def get_process_id(cls):
            return int(os.environ["HLORUN_LAUNCHED"].split()[1])

    types = module.ClusterEnv._cluster_types
    types.remove(HlorunCluster)
    types.insert(0, HlorunCluster)


def connect(_):
    """Orbax asks JAX's coordinator for barriers: it gets one, unless JAX has made its devices."""
    from jax._src import distributed, xla_bridge
    if distributed.global_state.client is None and not xla_bridge.backends_are_initialized():
        distributed.initialize()


def connect_late(module):
    """The same where JAX has its devices before Orbax is imported: it gets a coordinator when it first asks for one."""
    get_client = module.get_jax_distributed_client

    def connect_and_get_client():
        from jax._src import distributed
        if distributed.global_state.client is None:
            distributed.global_state.initialize()
        return get_client()

    module.get_jax_distributed_client = connect_and_get_client


class Hook:
    """Finds a module as Python does, and calls a function with it before it is executed, or after."""

    def __init__(self, name, before=None, after=None):
        self.name, self.before, self.after = name, before, after

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_call(module):
                for function in (self.before, execute, self.after):
                    if function:
                        function(module)

            spec.loader.exec_module = execute_and_call
        return spec


def run_hidden():
    """There is one sitecustomize: one that is behind this folder in the path is run from here."""
    here = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize",
                                                    [p for p in sys.path if os.path.abspath(p) != here])
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "HLORUN_LAUNCHED" in os.environ:
    sys.meta_path[:0] = [Hook(CLUSTERS, after=add_cluster), Hook("orbax.checkpoint", before=connect),
                         Hook(ORBAX_PROCESSES, after=connect_late)]
run_hidden()
