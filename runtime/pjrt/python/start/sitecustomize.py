"""Python runs this when it starts under `hlorun -n N`: jax.distributed.initialize() without arguments then works.

hlorun's processes need no coordinator. Libraries that ask JAX for one, as orbax does, get it: JAX looks for the kind of
cluster that it runs on among the subclasses of ClusterEnv, and here is one more. Nothing is imported for it: the class is
made when JAX loads its own. The coordinator's address is in JAX_COORDINATOR_ADDRESS, which the command sets.
"""
import importlib.machinery
import importlib.util
import os
import sys

CLUSTERS = "jax._src.clusters"


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


class ClusterFinder:
    """Finds JAX's module as Python does, and adds the class once it is loaded."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != CLUSTERS:
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_add(module):
                execute(module)
                add_cluster(module)

            spec.loader.exec_module = execute_and_add
        return spec


def run_hidden():
    """There is one sitecustomize: one that is behind this folder in the path is run from here."""
    here = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p) != here])
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "HLORUN_LAUNCHED" in os.environ:
    sys.meta_path.insert(0, ClusterFinder)
run_hidden()
