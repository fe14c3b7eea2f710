#!/usr/bin/env python3
"""Times hlorun beside XLA:CPU (jax) on the programs of programs.py: on the same cores, taking turns.

Usage: bench_xla.py [--hlorun FILE] [--programs FILE] [--out FOLDER] [--rounds N] [--seconds S] [--threads N] [--skip NAME,...]
                    [--no-memory] [NAME...]

--programs: another file of programs, a Python file whose P is as that of programs.py. Per program both compile once
and then run in `rounds` turns of about `seconds`; results are compared. Memory is the peak of a process that runs the
one program, on both sides. Writes FOLDER/bench.md (the table), bench.json and bench.svg (a bar per program: how many
times faster than XLA). Exits with 1 if a result differs. Needs jax: python3 -m venv jax && jax/bin/pip install jax,
then make bench PYTHON=jax/bin/python."""
import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time

# Results that small differences decide: where a gradient is almost nothing, the first step of Adam divides it by
# itself.
LOOSE = {"gpt_train": ["--rtol", "0.01"]}
INSTALL = "python3 -m venv jax && jax/bin/pip install jax, then make bench PYTHON=jax/bin/python"
HERE = os.path.dirname(os.path.abspath(__file__))


class Xla:
    """A process that compiles and times programs with jax; apart from hlorun's, so that neither disturbs the other."""

    def __init__(self, programs, threads):
        environment = dict(os.environ, JAX_PLATFORMS="cpu")
        if threads:
            environment["NPROC"] = str(threads)
        self.process = subprocess.Popen([sys.executable, __file__, "--serve", programs], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("bench: the process that runs jax ended; is jax installed? " + INSTALL)
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def read_programs(path):
    spec = importlib.util.spec_from_file_location("programs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.P


def peak(path):
    """Memory of a process that runs this one program on the arrays that hlorun gets, as hlorun's process does."""
    import resource

    import jax
    import ml_dtypes
    import numpy as np
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    client = jax.devices()[0].client
    with open(path + ".mlir") as file:
        module = ir.Module.parse(file.read(), mlir.make_ir_context())
    program = client.compile_and_load(module, xla_client.DeviceList(tuple(jax.devices())), xla_client.CompileOptions())
    args = []
    with np.load(path + ".npz") as arrays:
        for i in range(len(arrays.files)):
            array = arrays[f"in{i}"]
            array = array.view(ml_dtypes.bfloat16) if array.dtype.kind == "V" else array
            args.append(jax.device_put(array).block_until_ready())
            del array
    for _ in range(2):
        results = [x.block_until_ready() for x in program.execute(args)]
        del results
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def measure_peak(path):
    """0: it could not be measured."""
    done = subprocess.run([sys.executable, __file__, "--peak", path], capture_output=True, text=True,
                          env=dict(os.environ, JAX_PLATFORMS="cpu"))
    return int(done.stdout) if done.returncode == 0 else 0


def serve(path):
    import jax
    import numpy as np
    P = read_programs(path)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    compiled = {}

    def raw(array):
        array = np.asarray(array)
        return array.view("V2") if array.dtype == "bfloat16" else array

    def prepare(name, folder):
        function, args = P[name]
        args = jax.device_put(args)
        lowered = jax.jit(function, keep_unused=True).lower(*args)
        path = os.path.join(folder, name)
        with open(path + ".hlo", "w") as file:
            file.write(lowered.compiler_ir("hlo").as_hlo_text(True))
        with open(path + ".mlir", "w") as file:
            file.write(lowered.as_text())
        start = time.perf_counter()
        program = lowered.compile()
        seconds = time.perf_counter() - start
        results = jax.block_until_ready(program(*args))
        np.savez(path + ".npz", **{f"in{i}": raw(x) for i, x in enumerate(jax.tree.leaves(args))})
        np.savez(path + ".want.npz", **{f"out{i}": raw(x) for i, x in enumerate(jax.tree.leaves(results))})
        compiled.clear()
        compiled[name] = program, args
        return {"compile": seconds, "temporaries": program.memory_analysis().temp_size_in_bytes}

    def measure(name, seconds):
        program, args = compiled[name]
        times, end = [], time.perf_counter() + seconds
        while len(times) < 3 or (time.perf_counter() < end and len(times) < 20000):
            start = time.perf_counter()
            jax.block_until_ready(program(*args))
            times.append(time.perf_counter() - start)
        return {"best": min(times), "median": float(np.median(times))}

    for line in sys.stdin:
        question = json.loads(line)
        kind = question.pop("kind")
        answer = {"names": lambda: {"names": list(P)}, "prepare": prepare, "measure": measure}[kind](**question)
        print(json.dumps(answer), file=answers, flush=True)


def run_hlorun(options, folder, name, repeats):
    stats = os.path.join(folder, "stats.json")
    path = os.path.join(folder, name)
    command = [options.hlorun, "run", path + ".hlo", "--input", path + ".npz", "--expect", path + ".want.npz",
               "--repeat", str(repeats), "--stats", stats, "--cache", "none"] + LOOSE.get(name, [])
    if options.threads:
        command += ["--threads", str(options.threads)]
    started = time.perf_counter()
    done = subprocess.run(command + options.pass_on, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"}
    with open(stats) as file:
        figures = json.load(file)
    return {"compile": figures["compile_s"], "best": figures["best_s"], "median": figures["median_s"],
            "rss": figures["peak_rss_bytes"], "arena": figures["arena_bytes"], "wrong": done.returncode == 1,
            "elapsed": time.perf_counter() - started,
            "said": (done.stdout + done.stderr).strip()}


def compare(options, xla, folder, name):
    row = {"name": name, "xla": xla.ask(kind="prepare", name=name, folder=folder)}
    first = run_hlorun(options, folder, name, 2)
    if "error" in first:
        return dict(row, error=first["error"])
    row["hlorun"] = first
    row["xla"]["rss"] = 0 if options.no_memory else measure_peak(os.path.join(folder, name))
    for _ in range(options.rounds):
        repeats = int(min(20000, max(3, options.seconds / max(first["best"], 1e-7))))
        for side, figures in (("hlorun", run_hlorun(options, folder, name, repeats)),
                              ("xla", xla.ask(kind="measure", name=name, seconds=options.seconds))):
            for key, value in figures.items():
                old = row[side].get(key)
                row[side][key] = min(old, value) if key in ("compile", "best", "median") and old else value
    row["speed"] = row["xla"]["best"] / row["hlorun"]["best"]
    row["speed_median"] = row["xla"]["median"] / row["hlorun"]["median"]
    row["compile_speed"] = row["xla"]["compile"] / row["hlorun"]["compile"]
    return row


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def table(rows):
    lines = ["| program | XLA ms | hlorun ms | times faster | by medians | XLA compiles s | hlorun s | times sooner | "
             "XLA MiB | hlorun MiB |", "|---|" + "--:|" * 9]
    for row in rows:
        if "error" in row:
            lines.append(f"| {row['name']} | | **{row['error']}** | | | | | | | |")
            continue
        x, h = row["xla"], row["hlorun"]
        wrong = " **wrong**" if h["wrong"] else ""
        lines.append(f"| {row['name']}{wrong} | {x['best'] * 1e3:.4g} | {h['best'] * 1e3:.4g} | {row['speed']:.2f} | "
                     f"{row['speed_median']:.2f} | {x['compile']:.3f} | {h['compile']:.3f} | {row['compile_speed']:.1f} | "
                     f"{x['rss'] / 2**20:.0f} | {h['rss'] / 2**20:.0f} |")
    good = [row for row in rows if "error" not in row]
    lines.append(f"| **geometric mean** | | | **{geometric_mean([r['speed'] for r in good]):.2f}** | "
                 f"{geometric_mean([r['speed_median'] for r in good]):.2f} | | | "
                 f"{geometric_mean([r['compile_speed'] for r in good]):.1f} | | |")
    return "\n".join(lines) + "\n"


def bars(rows):
    """A horizontal bar per program on a logarithmic scale; the line at 1 is XLA."""
    rows = sorted((row for row in rows if "error" not in row), key=lambda row: -row["speed"])
    if not rows:
        return "<svg xmlns='http://www.w3.org/2000/svg'/>\n"
    low = min(0.5, min(row["speed"] for row in rows))
    high = max(2, max(row["speed"] for row in rows))
    left, width, step = 150, 560, 18
    place = lambda ratio: left + width * math.log(ratio / low) / math.log(high / low)
    height = step * len(rows) + 50
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{left + width + 70}' height='{height}' "
           "font-family='sans-serif' font-size='11'>",
           f"<text x='{left}' y='16' font-size='13'>times faster than XLA:CPU (logarithmic)</text>"]
    ticks = [r for r in (.1, .25, .5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096) if low <= r <= high]
    for tick in ticks:
        x = place(tick)
        out.append(f"<line x1='{x:.1f}' y1='24' x2='{x:.1f}' y2='{height - 18}' "
                   f"stroke='{'#333' if tick == 1 else '#ddd'}'/><text x='{x:.1f}' y='{height - 5}' "
                   f"text-anchor='middle'>{tick:g}</text>")
    for i, row in enumerate(rows):
        y, x = 28 + i * step, place(row["speed"])
        start, length = min(x, place(1)), abs(x - place(1))
        out.append(f"<text x='{left - 6}' y='{y + 11}' text-anchor='end'>{row['name']}</text>"
                   f"<rect x='{start:.1f}' y='{y}' width='{max(length, 1):.1f}' height='{step - 4}' "
                   f"fill='{'#2a7' if row['speed'] >= 1 else '#c43'}'/>"
                   f"<text x='{max(x, place(1)) + 4:.1f}' y='{y + 11}'>{row['speed']:.2g}</text>")
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hlorun", default="./hlorun")
    parser.add_argument("--programs", default=os.path.join(HERE, "programs.py"),
                        help="a Python file with a table P of programs")
    parser.add_argument("--out", default="bench")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--skip", default="")
    parser.add_argument("--no-memory", action="store_true", help="no process of its own to measure XLA's memory")
    parser.add_argument("--pass-on", action="append", default=[],
                        help="an option for hlorun, such as --pass-on=--engine=reference")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    xla = Xla(options.programs, options.threads)
    known = xla.ask(kind="names")["names"]
    unknown = [name for name in options.names if name not in known]
    if unknown:
        sys.exit(f"bench: no program {unknown[0]}; there are: {' '.join(known)}")
    names = [name for name in options.names or known if name not in options.skip.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            rows.append(compare(options, xla, folder, name))
            print(table(rows).splitlines()[-2], flush=True)
    xla.close()
    with open(os.path.join(options.out, "bench.json"), "w") as file:
        json.dump(rows, file, indent=1)
    with open(os.path.join(options.out, "bench.md"), "w") as file:
        file.write(table(rows))
    with open(os.path.join(options.out, "bench.svg"), "w") as file:
        file.write(bars(rows))
    print(table(rows).splitlines()[-1])
    sys.exit(any("error" in row or row["hlorun"]["wrong"] for row in rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    elif sys.argv[1:2] == ["--peak"]:
        peak(sys.argv[2])
    else:
        main()
