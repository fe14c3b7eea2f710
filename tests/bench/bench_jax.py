#!/usr/bin/env python3
"""JAX on hlorun beside JAX on its own CPU backend, by turns on the same cores, called from Python.

usage: bench_jax.py --hlorun HLORUN --plugin FILE [--out FOLDER] [--rounds N] [--seconds S] [--only PART,...] [--devices N]
                    [NAME...]

PART: calls (a jitted call), transfers (device_put, np.asarray), programs (those of programs.py: run, and from lower()
to the first result), eager (a hundred kinds of calls of jax.numpy), devices (N devices of one process), processes (N
processes; JAX has gloo), memory (VmHWM of a process that runs one program). NAME: items of these. Times are the best
of all rounds, and in brackets the middle one of a round; ratios above 1 say how many times faster hlorun is. Writes
FOLDER/bench_jax.json. The python that runs this must have jax.
"""
import argparse
import json
import math
import os
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SIDE = os.path.join(HERE, "jax_side.py")
PARTS = ["calls", "transfers", "programs", "eager", "devices", "processes", "memory"]


def environments(options, devices=1):
    """Those of both sides. Kept code would make a second run's compile times too short."""
    common = {key: value for key, value in os.environ.items() if key not in ("PJRT_NAMES_AND_LIBRARY_PATHS",
                                                                             "XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR")}
    ours = dict(common, JAX_PLATFORMS="hlorun", PJRT_NAMES_AND_LIBRARY_PATHS="hlorun:" + options.plugin,
                HLORUN_CACHE="none")
    theirs = dict(common, JAX_PLATFORMS="cpu")
    if devices > 1:
        ours["HLORUN_DEVICES"] = str(devices)
        theirs["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    return {"hlorun": ours, "jax": theirs}


class Process:
    """A served side."""

    def __init__(self, environment):
        self.process = subprocess.Popen([sys.executable, SIDE, "--serve"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment)

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": f"the process ended with {self.process.wait()}"}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def turns(options, sides, question):
    """Best and middle times of both sides. Who begins changes with each round."""
    times = {}
    for turn in range(options.rounds):
        for side in sorted(sides, reverse=turn % 2 == 0):
            answer = sides[side].ask(**question)
            if "error" in answer:
                return {"error": f"{side}: {answer['error']}"}
            old = times.get(side, answer)
            times[side] = {key: min(old[key], answer[key]) for key in answer}
    return times


def row(part, name, times):
    """A line of the table, printed as soon as it is known."""
    if "error" in times:
        print(f"{part:10} {name:26} {times['error']}", flush=True)
        return {"part": part, "name": name, "error": times["error"]}
    ours, theirs = times["hlorun"], times["jax"]
    ratio, middle = theirs["best"] / ours["best"], theirs["middle"] / ours["middle"]
    print(f"{part:10} {name:26} {1e6 * ours['best']:12.2f} us  JAX {1e6 * theirs['best']:12.2f} us  {ratio:7.2f} ({middle:.2f})",
          flush=True)
    return {"part": part, "name": name, "hlorun": ours, "jax": theirs, "ratio": ratio, "middle": middle}


def chosen(options, names):
    return [name for name in names if not options.names or name in options.names]


def run_served(options, part, sides):
    names = sides["jax"].ask(kind="names", group=part).get("names", [])
    return [row(part, name, turns(options, sides, dict(kind="measure", group=part, name=name, seconds=options.seconds)))
            for name in chosen(options, names)]


def same(options, name):
    import numpy as np
    with np.load(path_of(options, "hlorun", name)) as ours, np.load(path_of(options, "jax", name)) as theirs:
        return all(np.allclose(ours[k], theirs[k], rtol=2e-2, atol=1e-3, equal_nan=True) for k in theirs.files)


def path_of(options, side, name):
    return os.path.join(options.out, f"{side}.{name}.npz")


def run_compile(options, sides):
    """From lower() to the first result; JAX's part of it, tracing and lowering, is the same on both sides."""
    rows = []
    for name in chosen(options, sides["jax"].ask(kind="names", group="programs")["names"]):
        times = {}
        for side in sides:
            answer = sides[side].ask(kind="compile", name=name, out=path_of(options, side, name))
            if "error" in answer:
                times = {"error": f"{side}: {answer['error']}"}
                break
            times[side] = {"best": answer["first"], "middle": answer["first"] + answer["lower"]}
        rows.append(row("compile", name, times))
        if "error" not in times and not same(options, name):
            print(f"{'':10} {name:26} results differ", flush=True)
        for side in sides:
            if os.path.exists(path_of(options, side, name)):
                os.remove(path_of(options, side, name))
    return rows


# --- processes and memory ---

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def times_in(text):
    for line in (text or "").splitlines():
        if line.startswith("TIMES"):
            return dict(zip(("best", "middle"), map(float, line.split()[1:])))
    return {"error": "no times: " + (text or "").strip()[-150:]}


def run_processes_of(options, side, name):
    command = [sys.executable, SIDE, "--process", name]
    count, seconds, environment = options.devices, str(options.seconds), environments(options)[side]
    if side == "hlorun":
        done = subprocess.run([options.hlorun, "-n", str(count)] + command + ["0", str(count), "0", seconds],
                              env=environment,
                              capture_output=True, text=True)
        return times_in(done.stdout)
    port = str(free_port())
    ranks = [subprocess.Popen(command + [str(rank), str(count), port, seconds], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, env=environment) for rank in range(count)]
    return times_in([rank.communicate()[0] for rank in ranks][0])


def run_processes(options, names):
    rows = []
    for name in chosen(options, names):
        times = {}
        for _ in range(options.rounds):
            for side in ("hlorun", "jax"):
                answer = run_processes_of(options, side, name)
                old = times.get(side, answer)
                times[side] = answer if "error" in answer else {key: min(old.get(key, answer[key]),
                                                                         answer[key]) for key in answer}
        wrong = [f"{side}: {times[side]['error']}" for side in times if "error" in times[side]]
        rows.append(row("processes", name, {"error": wrong[0]} if wrong else times))
    return rows


def run_memory(options, names):
    rows = []
    for name in chosen(options, names):
        peaks = {}
        for side, environment in environments(options).items():
            done = subprocess.run([sys.executable, SIDE, "--peak", name], env=environment, capture_output=True,
                                  text=True)
            peaks[side] = int(done.stdout) if done.returncode == 0 else 0
        ratio = peaks["jax"] / peaks["hlorun"] if peaks["hlorun"] else 0
        print(f"{'memory':10} {name:26} {peaks['hlorun'] / 1024:12.1f} MiB JAX {peaks['jax'] / 1024:12.1f} MiB {ratio:7.2f}",
              flush=True)
        rows.append({"part": "memory", "name": name, "hlorun": peaks["hlorun"], "jax": peaks["jax"], "ratio": ratio})
    return rows


def summary(rows):
    for part in dict.fromkeys(r["part"] for r in rows):
        good = [r for r in rows if r["part"] == part and r.get("ratio")]
        if not good:
            continue
        mean = math.exp(sum(math.log(r["ratio"]) for r in good) / len(good))
        below = sorted((r for r in good if r["ratio"] < 1), key=lambda r: r["ratio"])
        print(f"{part}: geometric mean {mean:.2f}, {len(good) - len(below)} of {len(good)} at least 1; below: " +
              (", ".join(f"{r['name']} {r['ratio']:.2f}" for r in below) or "none"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hlorun", default="./hlorun")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--out", default="bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.plugin, options.hlorun = os.path.abspath(options.plugin), os.path.abspath(options.hlorun)
    os.makedirs(options.out, exist_ok=True)
    parts, rows = options.only.split(","), []
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    sides = {side: Process(environment) for side, environment in environments(options).items()}
    names = sides["jax"].ask(kind="names", group="programs").get("names")
    if names is None:
        sys.exit("bench_jax: the python that runs this must have jax")
    for part in ("calls", "transfers", "eager", "programs"):
        if part in parts:
            rows += run_served(options, part, sides)
    if "programs" in parts:
        rows += run_compile(options, sides)
    for side in sides.values():
        side.close()
    global_names = []
    if "devices" in parts or "processes" in parts:
        sides = {side: Process(environment) for side, environment in environments(options, options.devices).items()}
        global_names = sides["jax"].ask(kind="names", group="devices").get("names", [])
        rows += run_served(options, "devices", sides) if "devices" in parts else []
        for side in sides.values():
            side.close()
    rows += run_processes(options, global_names) if "processes" in parts else []
    rows += run_memory(options, names) if "memory" in parts else []
    with open(os.path.join(options.out, "bench_jax.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
    summary(rows)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
