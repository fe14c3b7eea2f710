"""JAX's all-reduce over gloo, one process of several: prints "jax-gloo RANKS BYTES US" lines on process 0.

usage: bench_gloo.py RANK RANKS PORT SECONDS
"""
import os
import sys
import time

os.environ["JAX_NUM_CPU_DEVICES"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402: the variables come first
import numpy as np  # noqa: E402
from jax import shard_map  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

SIZES = [4 ** k for k in range(1, 14)]


def measure(reduce, array, seconds):
    # All ranks do the same number of rounds: the size decides.
    best, rounds = float("inf"), max(4, min(200, int(seconds * 2e8 / array.nbytes)))
    for i in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(reduce(array))
        if i:
            best = min(best, time.perf_counter() - start)
    return best


def main():
    rank, ranks, port, seconds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", ranks, rank)
    mesh = Mesh(np.array(jax.devices()), ("d",))
    reduce = jax.jit(shard_map(lambda a: jax.lax.psum(a, "d"), mesh=mesh, in_specs=PartitionSpec("d"),
                               out_specs=PartitionSpec(None)))
    for size in SIZES:
        ones = np.ones((1, size // 4), np.float32)
        array = jax.make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec("d")), ones)
        best = measure(reduce, array, seconds)
        if rank == 0:
            print("jax-gloo", ranks, size, f"{best * 1e6:.2f}", flush=True)


if __name__ == "__main__":
    main()
