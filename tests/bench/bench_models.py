#!/usr/bin/env python3
"""Times hlorun beside XLA:CPU (jax) on whole models (models.py), on one core and on two; they take turns.

Usage: bench_models.py [--hlorun FILE] [--out FOLDER] [--cores N,...] [--rounds N] [--seconds S] [--skip NAME,...] [NAME...]

Per model and number of cores: milliseconds of both and their ratio; of the first number of cores also how long both
compile, and the memory for intermediate arrays: hlorun's arena, XLA's temporaries. The limit is the part of hlorun's
time that bandwidth and arithmetic of that moment would need for its kernels (--explain=json); kernels far from theirs
are listed below with the reason. Processes are bound to the cores, and both have as many threads. Writes
FOLDER/models.md (the table) and models.json. Exits with 1 if a result differs. Needs jax: python3 -m venv jax &&
jax/bin/pip install jax, then make bench-models PYTHON=jax/bin/python."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import bench_xla

MIB = 2.0 ** 20
# Results that roundings decide: chains that accept or not, roundings to integers, gradients that are zero but for
# rounding (biases of keys, sums over normalised values) and become steps of full size. Logits in bf16 have the errors
# of all layers: up to three steps of their largest magnitude.
LOOSE = {name: ["--rtol", "0.02", "--atol", "0.02"] for name in ("gpt2_adamw", "resnet_train", "int8_ffn",
                                                                 "flow_spline_grad",
                                                             "nerf_grad")}
LOOSE["llama_decode_bf16"] = LOOSE["llama_prefill_bf16"] = ["--rtol", "0.016", "--atol", "0.1"]
UNDECIDED = ("hmc_chains", "llama_scan_remat")


def limit(options, folder, name):
    """What part of the kernels' time their bytes and operations would take at the machine's speed (None: it is not
    known), and the kernels that are far from their limits, each with its share of the time and the reason."""
    path = os.path.join(folder, name)
    done = subprocess.run([options.hlorun, "run", path + ".hlo", "--input", path + ".npz", "--repeat", "5",
                           "--explain=json",
                           "--threads", str(options.threads), "--cache", "none"], capture_output=True, text=True)
    if done.returncode:
        return None, []
    everything = json.loads(done.stdout)
    known = [kernel for kernel in everything["kernels"] if kernel["limit_s"] > 0]
    took = sum(kernel["time_s"] for kernel in known)
    far = [f"{100 * kernel['time_s'] / everything['kernels_s']:.0f}% of the time at "
           f"{100 * kernel['limit_s'] / kernel['time_s']:.0f}%: {kernel['kernel']} ({kernel['op']}): {kernel['reason']}"
           for kernel in known if kernel.get("far")]
    return sum(kernel["limit_s"] for kernel in known) / took if took else None, far


def measure(options, names, cores):
    """A row of bench_xla per model. Children inherit the cores of this process."""
    os.sched_setaffinity(0, options.processors[:cores])
    options.threads = cores
    xla = bench_xla.Xla(os.path.join(bench_xla.HERE, "models.py"), cores)
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names or xla.ask(kind="names")["names"]:
            if name in options.skip.split(","):
                continue
            row = rows[name] = bench_xla.compare(options, xla, folder, name)
            said = row.get("error") or f"{row['speed']:.2f}"
            if "error" not in row:
                row["limit"], row["far"] = limit(options, folder, name)
            if "error" not in row and row["hlorun"]["wrong"]:
                row["differs"] = name not in UNDECIDED
                said += " differs: " + row["hlorun"]["said"][:200]
            print(f"{name} on {cores}: {said}", flush=True)
    xla.close()
    return rows


def mean(rows, key):
    return bench_xla.geometric_mean([row[key] for row in rows.values() if row.get(key)])


def line(name, tables):
    first = next(iter(tables.values()))[name]
    if "error" in first:
        return f"| {name} | **{first['error']}** |"
    cells = []
    for rows in tables.values():
        row = rows[name]
        if "error" in row:
            cells += ["", f"**{row['error']}**", "", ""]
            continue
        cells += [f"{row['xla']['best'] * 1e3:.4g}", f"{row['hlorun']['best'] * 1e3:.4g}", f"{row['speed']:.2f}",
                  f"{100 * row['limit']:.0f}%" if row["limit"] else "-"]
    cells += [f"{first['xla']['compile']:.2f}", f"{first['hlorun']['compile']:.3f}", f"{first['compile_speed']:.0f}",
              f"{first['xla']['temporaries'] / MIB:.2f}", f"{first['hlorun']['arena'] / MIB:.2f}"]
    return f"| {name}{' **differs**' if first.get('differs') else ''} | " + " | ".join(cells) + " |"


def table(tables):
    names = list(next(iter(tables.values())))
    head = ["model"]
    for cores in tables:
        head += [f"XLA ms ({cores})", f"hlorun ms ({cores})", f"x ({cores})", f"of the limit ({cores})"]
    head += ["XLA compiles s", "hlorun s", "x", "temporaries MiB", "arena MiB"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    lines += [line(name, tables) for name in names]
    total = []
    for rows in tables.values():
        total += ["", "", f"**{mean(rows, 'speed'):.2f}**", f"{100 * mean(rows, 'limit'):.0f}%"]
    total += ["", "", f"{mean(next(iter(tables.values())), 'compile_speed'):.0f}", "", ""]
    return "\n".join(lines + ["| **geometric mean** | " + " | ".join(total) + " |"]) + "\n"


def notes(tables):
    """Kernels of at least 5% of a model's time that are below 30% of their limit."""
    lines = [f"- {name}, {cores}: {far}" for cores, rows in tables.items() for name, row in rows.items()
             for far in row.get("far", [])]
    return "\nFar from the limit (model, cores):\n\n" + "\n".join(lines) + "\n" if lines else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hlorun", default="./hlorun")
    parser.add_argument("--out", default="bench")
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--skip", default="")
    parser.add_argument("--pass-on", action="append", default=[], help="an option for hlorun")
    parser.add_argument("names", nargs="*")
    parser.set_defaults(no_memory=False)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    options.processors = sorted(os.sched_getaffinity(0))
    bench_xla.LOOSE = LOOSE
    tables = {}
    for cores in map(int, options.cores.split(",")):
        if cores > len(options.processors):
            print(f"skipped: {cores} cores, this process may use {len(options.processors)}")
            continue
        tables[cores] = measure(options, options.names, cores)
    with open(os.path.join(options.out, "models.json"), "w") as file:
        json.dump(tables, file, indent=1)
    with open(os.path.join(options.out, "models.md"), "w") as file:
        file.write(table(tables) + notes(tables))
    print(table(tables) + notes(tables), end="")
    sys.exit(any("error" in row or row.get("differs") for rows in tables.values() for row in rows.values()))


if __name__ == "__main__":
    main()
