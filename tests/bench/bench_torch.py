#!/usr/bin/env python3
"""Times hlorun beside PyTorch on models in their usual sizes (full_models.py, torch_side.py), with equal shapes,
weights, cores.

Usage: bench_torch.py --torch PYTHON [--hlorun FILE] [--out FOLDER] [--cores N,...] [--seconds S] [--ways WAY,...] [NAME...]

PyTorch runs eagerly, with torch.compile, and models with images in channels_last as well; its best way counts. hlorun
is timed before and after each way. What both compute first (a loss, logits, tokens) is compared. Processes are bound
to the cores, and both have as many threads. Writes FOLDER/torch.md (the table) and torch.json. Exits with 1 if a
result differs. This Python needs jax, which writes the programs; --torch is one that has PyTorch (make bench-torch
PYTHON=... TORCH=...)."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import bench_xla

TOLERANCE = 2e-3  # of the largest magnitude: sums of thousands of terms in another order


class Torch:
    """A process with PyTorch; `ask` gives None if it ended."""

    def __init__(self, python, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        self.process = subprocess.Popen([python, os.path.join(bench_xla.HERE, "torch_side.py")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)
        self.version = self.must(kind="threads", count=threads)["torch"]

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def must(self, **question):
        answer = self.ask(**question)
        if answer is None:
            sys.exit("bench-torch: the process that runs PyTorch ended; does --torch name a Python that has it?")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def export(name, folder):
    """Writes NAME.hlo and NAME.npz. Returns the arguments' tree with the numbers of the arrays as its leaves."""
    import jax
    from full_models import P
    function, make_arguments = P[name]
    arguments = make_arguments()
    leaves, tree = jax.tree.flatten(arguments)
    path = os.path.join(folder, name)
    with open(path + ".hlo", "w") as file:
        file.write(jax.jit(function, keep_unused=True).lower(*arguments).compiler_ir("hlo").as_hlo_text(True))
    np.savez(path + ".npz", **{f"in{i}": np.asarray(x) for i, x in enumerate(leaves)})
    return jax.tree.unflatten(tree, range(len(leaves)))


def run_hlorun(options, path, repeats, output=()):
    command = [options.hlorun, "run", path + ".hlo", "--input", path + ".npz", "--repeat", str(repeats), "--stats",
               path + ".json", "--cache", "none", "--threads", str(options.threads), *output]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("bench-torch: hlorun: " + done.stderr.strip())
    with open(path + ".json") as file:
        figures = json.load(file)
    return {"compile": figures["compile_s"], "best": figures["best_s"], "median": figures["median_s"]}


def first_result(options, path):
    """A run of hlorun whose first result is kept."""
    figures = run_hlorun(options, path, 2, ["--output", path + ".out.npz"])
    with np.load(path + ".out.npz") as arrays:
        return figures, arrays["out0"].astype(np.float64).ravel()[:1000]


def differs(want, found):
    found = np.array(found)
    return found.shape != want.shape or not np.allclose(found, want, rtol=0, atol=TOLERANCE * np.abs(want).max())


def keep_best(best, figures):
    for key, value in figures.items():
        best[key] = min(best.get(key, value), value)


def compare(options, name, folder):
    path = os.path.join(folder, name)
    tree = export(name, folder)
    mine, want = first_result(options, path)
    repeats = max(3, int(options.seconds / mine["best"]))
    row = {"name": name, "hlorun": mine, "torch": {}}
    torch = Torch(options.torch, options.threads)
    for way in torch.must(kind="ways", name=name)["ways"]:
        if options.ways and way not in options.ways.split(","):
            continue
        made = torch.must(kind="prepare", name=name, way=way, path=path + ".npz", tree=tree)
        keep_best(mine, run_hlorun(options, path, repeats))
        theirs = torch.must(kind="measure", seconds=options.seconds)
        keep_best(mine, run_hlorun(options, path, repeats))
        row["torch"][way] = dict(theirs, compile=made["compile"], differs=differs(want, made["first"]))
    row["version"] = torch.version
    torch.close()
    row["best"] = min(row["torch"], key=lambda way: row["torch"][way]["best"])
    row["speed"] = row["torch"][row["best"]]["best"] / mine["best"]
    return row


def line(row):
    ways = []
    for way, figures in row["torch"].items():
        ways.append(f"{way} {figures['best'] * 1e3:.4g}{' **differs**' if figures['differs'] else ''}")
    return f"| {row['name']} | {row['cores']} | {'; '.join(ways)} | {row['hlorun']['best'] * 1e3:.4g} | {row['speed']:.2f} |"


def table(rows):
    lines = [f"PyTorch {rows[0]['version']}; milliseconds", "",
             "| model | cores | PyTorch | hlorun | times as fast as its best way |", "|---|--:|---|--:|--:|"]
    lines += [line(row) for row in rows]
    return "\n".join(lines +
                     [f"| **geometric mean** | | | | **{bench_xla.geometric_mean([r['speed'] for r in rows]):.2f}** |"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--hlorun", default="./hlorun")
    parser.add_argument("--out", default="bench")
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--ways", default="", help="of eager, compile, channels_last and both; all")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    from full_models import P
    processors, rows = sorted(os.sched_getaffinity(0)), []
    for cores in map(int, options.cores.split(",")):
        if cores > len(processors):
            print(f"skipped: {cores} cores, this process may use {len(processors)}")
            continue
        os.sched_setaffinity(0, processors[:cores])
        options.threads = cores
        for name in options.names or P:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(dict(compare(options, name, folder), cores=cores))
            print(line(rows[-1]), flush=True)
    with open(os.path.join(options.out, "torch.json"), "w") as file:
        json.dump(rows, file, indent=1)
    with open(os.path.join(options.out, "torch.md"), "w") as file:
        file.write(table(rows) + "\n")
    print(table(rows).splitlines()[-1])
    sys.exit(any(way["differs"] for row in rows for way in row["torch"].values()))


if __name__ == "__main__":
    main()
