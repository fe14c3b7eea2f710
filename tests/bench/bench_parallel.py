#!/usr/bin/env python3
"""Data-parallel training steps on several processes of this machine: hlorun beside JAX with gloo, in the same minutes.

usage: bench_parallel.py --hlorun HLORUN [--out FOLDER] [--processes 1,2,8] [--rounds N] [PROGRAM...]

PROGRAM: mlp (784-512-512-10, 128 rows on each process), digits (examples/digits: 160 rows in all), gpt
(examples/gpt). Prints a table of the best and the middle step in milliseconds, of the first process. The python that
runs this must have jax.
"""
import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
STEPS = {"mlp": 150, "digits": 360, "gpt": 150}


def programs_of(name, processes):
    """The step, what it starts from (weights and the like, data of one process), and how many of these come back."""
    import numpy as np
    rng = np.random.default_rng(7)
    if name == "mlp":
        from programs import mlp_loss, mlp_w  # pylint: disable=import-outside-toplevel
        import jax

        def step(weights, x, y):
            loss, gradients = jax.value_and_grad(mlp_loss)(weights, x, y)
            gradients = jax.lax.pmean(gradients, "replicas")
            return jax.lax.pmean(loss, "replicas"), jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)

        data = rng.standard_normal((128, 784)).astype(np.float32), rng.integers(0, 10, 128).astype(np.int32)
        return step, [mlp_w], data
    sys.path.insert(0, os.path.join(EXAMPLES, name))
    import export  # pylint: disable=import-outside-toplevel,import-error
    if name == "gpt":
        weights = export.first_weights(rng)
        zeros = jax_map(np.zeros_like, weights)
        windows = np.load(os.path.join(EXAMPLES, "gpt", "windows.npy"))
        return export.train_step, [weights, zeros, zeros], (windows[:export.BATCH],)
    rows = export.GLOBAL_BATCH // processes
    weights = export.first_weights(rng)
    zeros = [np.zeros_like(w) for w in weights]
    images = np.load(os.path.join(EXAMPLES, "digits", "train_images.npy"))
    labels = np.load(os.path.join(EXAMPLES, "digits", "train_labels.npy"))
    return export.train_step, [weights, zeros, zeros, np.float32(0)], (images[:rows], labels[:rows], np.int32(rows))


def jax_map(function, tree):
    import jax
    return jax.tree.map(function, tree)


# --- JAX: one process of them ---

def run_jax(name, rank, processes, port):
    os.environ["JAX_NUM_CPU_DEVICES"] = "1"
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    if processes > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"127.0.0.1:{port}", processes, rank)
    step, state, data = programs_of(name, processes)
    mesh = Mesh(np.array(jax.devices()), ("replicas",))
    everywhere, cut = PartitionSpec(), PartitionSpec("replicas")

    def one(state, data):
        return step(*state, *jax.tree.map(lambda a: a[0], data))

    mapped = jax.jit(jax.shard_map(one, mesh=mesh, in_specs=(everywhere, cut), out_specs=everywhere, check_vma=False),
                     donate_argnums=0)
    put = jax.make_array_from_process_local_data
    state = jax.tree.map(lambda a: put(NamedSharding(mesh, everywhere), np.asarray(a)), state)
    data = jax.tree.map(lambda a: put(NamedSharding(mesh, cut), np.asarray(a)[None]), data)
    times = []
    for _ in range(STEPS[name]):
        begin = time.perf_counter()
        _, *state = mapped(state, data)
        jax.block_until_ready(state)
        times.append(time.perf_counter() - begin)
    if rank == 0:
        print("TIMES", min(times[1:]), sorted(times[1:])[len(times) // 2])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def time_jax(name, processes):
    port = str(free_port())
    command = [sys.executable, os.path.abspath(__file__), "--jax", name]
    ranks = [subprocess.Popen(command + [str(rank), str(processes), port], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) for rank in range(processes)]
    out = [rank.communicate()[0] for rank in ranks]
    return [float(number) for number in re.search(r"TIMES (\S+) (\S+)", out[0]).groups()]


# --- hlorun ---

def export_mlp(folder):
    import jax
    import numpy as np
    from jax.sharding import PartitionSpec
    jax.config.update("jax_use_shardy_partitioner", False)
    step, state, data = programs_of("mlp", 1)
    everywhere = PartitionSpec()
    mapped = jax.shard_map(step, mesh=jax.make_mesh((1,), ("replicas",)), in_specs=everywhere, out_specs=everywhere,
                           check_vma=False)
    text = jax.jit(mapped).lower(*state, *data).as_text("hlo")
    text = re.sub(r"channel_id=\d+, replica_groups=\{\{0\}\}, use_global_device_ids=true", "replica_groups={}", text)
    with open(os.path.join(folder, "mlp.hlo"), "w", encoding="utf-8") as file:
        file.write(text)
    leaves = jax.tree.leaves((state, data))
    np.savez(os.path.join(folder, "mlp.npz"), **{f"in{k}": leaf for k, leaf in enumerate(leaves)})
    return ["--input", os.path.join(folder, "mlp.npz"), "--carry", "1-6:0-5", os.path.join(folder, "mlp.hlo")]


def arguments_of(name, folder):
    if name == "mlp":
        return export_mlp(folder)
    here = os.path.join(EXAMPLES, name)
    if name == "gpt":
        return ["--input", f"{here}/init.npz", "--carry", "1-60:0-59", "--feed", f"60={here}/windows.npy",
                f"{here}/train.hlo"]
    return ["--input", f"{here}/init.npz", "--carry", "1-13:0-12", "--feed", f"13={here}/train_images.npy", "--feed",
            f"14={here}/train_labels.npy", f"{here}/train.hlo"]


def time_hlorun(hlorun, name, processes, folder, arguments, settings):
    stats = os.path.join(folder, "stats.json")
    command = [hlorun, "-n", str(processes), "--steps", str(STEPS[name]), "--no-progress", "--stats", stats, "--output",
               os.path.join(folder, "out.npz")] + arguments
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **settings)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(stats, encoding="utf-8") as file:
        read = json.load(file)
    return read["best_s"], read["median_s"]


# --- the table ---

def best(times):
    return min(t[0] for t in times), min(t[1] for t in times)


def measure(options, name, processes, arguments):
    whole = {"HLORUN_OVERLAP": "0", "HLORUN_COMBINE": "0"}
    ours, plain, theirs = [], [], []
    for _ in range(options.rounds):
        ours.append(time_hlorun(options.hlorun, name, processes, options.out, arguments, {}))
        plain.append(time_hlorun(options.hlorun, name, processes, options.out, arguments, whole))
        theirs.append(time_jax(name, processes))
    return best(ours), best(plain), best(theirs)


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--jax":
        run_jax(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--hlorun", required=True)
    parser.add_argument("--out", default="bench")
    parser.add_argument("--processes", default="1,2,8")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("programs", nargs="*", default=["mlp", "digits", "gpt"])
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    print("milliseconds a step, best (middle) | collectives in one piece | JAX + gloo | times as fast, best (middle)")
    for name in options.programs:
        arguments = arguments_of(name, options.out)
        for processes in map(int, options.processes.split(",")):
            ours, plain, theirs = measure(options, name, processes, arguments)
            cells = [f"{1e3 * t[0]:8.3f} ({1e3 * t[1]:8.3f})" for t in (ours, plain, theirs)]
            print(f"{name:7} {processes} | " + " | ".join(cells) +
                  f" | {theirs[0] / ours[0]:5.1f} ({theirs[1] / ours[1]:5.1f})", flush=True)


if __name__ == "__main__":
    main()
