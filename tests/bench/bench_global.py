#!/usr/bin/env python3
"""Global programs on several processes of this machine: hlorun beside JAX with as many devices, by turns on the same
cores.

usage: bench_global.py --hlorun HLORUN [--out FOLDER] [--processes 2,8] [--rounds N] [PROGRAM...]

PROGRAM: names of global_programs.py. hlorun -n N partitions what jit lowers for a mesh of N devices; JAX runs the
same step on N host devices of one process, XLA's partitioner and collectives within it. Prints a table of the best
and the middle step in milliseconds. The python that runs this must have jax.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time

SECONDS = 2  # of steps, about, for a side and round


def prepare(name, devices):
    """The jitted step, and its arguments on their devices."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    import jax
    from jax.sharding import NamedSharding, PartitionSpec
    from global_programs import PROGRAMS
    step, state, data, state_cuts, data_cuts = PROGRAMS[name](devices)
    mesh = jax.make_mesh((devices,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    named = lambda tree: jax.tree.map(lambda cut: NamedSharding(mesh, cut), tree,
                                      is_leaf=lambda leaf: isinstance(leaf, PartitionSpec))
    state_cuts, data_cuts = named(state_cuts), named(data_cuts)
    jitted = jax.jit(step, in_shardings=(state_cuts, data_cuts), out_shardings=(named(PartitionSpec()), state_cuts),
                     donate_argnums=0)
    return jitted, jax.device_put(state, state_cuts), jax.device_put(data, data_cuts)


def run_jax(name, devices, folder):
    """Times steps; with a folder also writes the program and its arguments for hlorun."""
    import numpy as np
    step, state, data = prepare(name, devices)
    import jax
    if folder:
        leaves = jax.tree.leaves((state, data))
        with open(os.path.join(folder, f"{name}{devices}.mlir"), "w", encoding="utf-8") as file:
            file.write(step.lower(state, data).as_text())
        np.savez(os.path.join(folder, f"{name}.npz"), **{f"in{k}": np.asarray(leaf) for k, leaf in enumerate(leaves)})
        print("CARRIED", len(jax.tree.leaves(state)))
        return
    times, end = [], time.perf_counter() + 1 + SECONDS
    while time.perf_counter() < end or len(times) < 4:
        begin = time.perf_counter()
        _, state = step(state, data)
        jax.block_until_ready(state)
        times.append(time.perf_counter() - begin)
    times = sorted(times[1:])
    print("TIMES", times[0], times[len(times) // 2], len(times))


def call_jax(name, devices, folder=""):
    command = [sys.executable, os.path.abspath(__file__), "--jax", name, str(devices), folder]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"(?:TIMES|CARRIED) (.*)", out.stdout)
    if not found:
        sys.exit(out.stderr)
    return [float(number) for number in found.group(1).split()]


def call_hlorun(options, name, devices, carried, steps):
    stats = os.path.join(options.out, "stats.json")
    command = [options.hlorun, "-n", str(devices), "--steps", str(steps), "--no-progress", "--stats", stats, "--input",
               os.path.join(options.out, f"{name}.npz"), "--carry", f"1-{carried}:0-{carried - 1}", "--output",
               os.path.join(options.out, "out.npz"), os.path.join(options.out, f"{name}{devices}.mlir")]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    with open(stats, encoding="utf-8") as file:
        read = json.load(file)
    return read["best_s"], read["median_s"]


def measure(options, name, devices):
    carried = int(call_jax(name, devices, options.out)[0])
    ours, theirs, steps = [], [], 20
    for _ in range(options.rounds):
        ours.append(call_hlorun(options, name, devices, carried, steps))
        steps = max(10, min(2000, int(SECONDS / ours[-1][1])))
        theirs.append(call_jax(name, devices)[:2])
    return [[min(pair[i] for pair in times) for i in range(2)] for times in (ours, theirs)]


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--jax":
        run_jax(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--hlorun", required=True)
    parser.add_argument("--out", default="bench")
    parser.add_argument("--processes", default="2,8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    from global_programs import PROGRAMS
    print("milliseconds a step, best (middle)  | hlorun | JAX | times as fast, best (middle)")
    for name in options.programs or PROGRAMS:
        for devices in map(int, options.processes.split(",")):
            ours, theirs = measure(options, name, devices)
            cells = [f"{1e3 * t[0]:8.3f} ({1e3 * t[1]:8.3f})" for t in (ours, theirs)]
            print(f"{name:20} {devices} | " + " | ".join(cells) +
                  f" | {theirs[0] / ours[0]:5.1f} ({theirs[1] / ours[1]:5.1f})", flush=True)


if __name__ == "__main__":
    main()
