#!/usr/bin/env python3
"""Times hlorun beside TensorFlow on its CPU, with and without jit_compile, on the models of tf_models.py; they take
turns.

Usage: bench_tf.py [--hlorun FILE] [--out FOLDER] [--seconds S] [--threads N] [--export] [NAME...]

Each model is a SavedModel in FOLDER/tf/NAME, which is written unless it is there; --export stops there. XLA refuses
some. All run the same signature on the same arrays, and the results are compared: of a step of training, the loss
before it. Writes FOLDER/tf.md (the table) and FOLDER/tf/NAME.json, which later runs of other models keep. Exits with
1 if a result differs. Needs tensorflow: python3 -m venv tf && tf/bin/pip install tensorflow-cpu, then make bench-tf
PYTHON=tf/bin/python."""
import argparse
import json
import math
import os
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
SHORT = {"float32": "f32", "int32": "s32"}


def export(path, name):
    """The SavedModel, and inputs and results as hlorun orders them: by name."""
    import keras
    import tf_models
    keras.utils.set_random_seed(3)
    module, function, inputs = tf_models.MODELS[name]()
    tf.saved_model.save(module, path, signatures=function)
    arrays = {"in%d" % i: inputs[key] for i, key in enumerate(sorted(inputs))}
    results = function(*inputs.values())
    arrays.update({"out%d" % i: results[key].numpy() for i, key in enumerate(sorted(results))})
    np.savez(path + ".npz", **arrays)
    with open(os.path.join(path, "feeds"), "w") as file:
        for key, x in inputs.items():
            file.write("%s=%s[%s]\n" % (key, SHORT[x.dtype.name], ",".join(map(str, x.shape))))


def timed(call, seconds):
    """The best time of as many calls as fit, three at least."""
    best, end = math.inf, time.perf_counter() + seconds
    count = 0
    while count < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        count += 1
    return best


def tensorflow_calls(path):
    """The signature as a call, without and with jit_compile."""
    loaded = tf.saved_model.load(path)
    signature = loaded.signatures["serving_default"]
    names = [line.split("=")[0] for line in open(os.path.join(path, "feeds"))]
    with np.load(path + ".npz") as file:
        inputs = {name: tf.constant(file["in%d" % i]) for i, name in enumerate(sorted(names))}
    wrapped = tf.function(lambda **x: signature(**x), jit_compile=True)

    def ready(function):
        return lambda: [y.numpy() for y in function(**inputs).values()]
    return loaded, ready(signature), ready(wrapped)


def run_hlorun(options, path, name, repeats):
    command = [options.hlorun, path, "--input", path + ".npz", "--expect", path + ".npz", "--rtol", "1e-3", "--atol",
               "1e-3",
               "--repeat", str(repeats), "--stats", path + ".stats", "--cache", "none", "--threads",
               str(options.threads)]
    for line in open(os.path.join(path, "feeds")):
        command += ["--feed", line.strip()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return {"error": (done.stderr or done.stdout).strip()[:300]}
    with open(path + ".stats") as file:
        figures = json.load(file)
    return {"best": figures["best_s"], "compile": figures["compile_s"], "wrong": done.returncode == 1,
            "said": done.stdout.strip()[:300]}


def measure(options, path, name):
    loaded, plain, jit = tensorflow_calls(path)
    plain()
    start = time.perf_counter()
    row = {"name": name, "tf": math.inf, "jit": math.inf}
    try:
        jit()
        row["jit_compile"] = time.perf_counter() - start
    except tf.errors.OpError:  # XLA does not take every graph that TensorFlow runs
        row["jit"], row["jit_compile"] = None, None
    row["hlorun"] = run_hlorun(options, path, name, 3)
    if "error" in row["hlorun"]:
        return row
    repeats = max(3, min(5000, int(options.seconds / row["hlorun"]["best"])))
    for _ in range(2):
        row["tf"] = min(row["tf"], timed(plain, options.seconds))
        if row["jit"]:
            row["jit"] = min(row["jit"], timed(jit, options.seconds))
        again = run_hlorun(options, path, name, repeats)
        row["hlorun"]["best"] = min(row["hlorun"]["best"], again["best"])
    return row


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def table(rows):
    lines = ["| model | TensorFlow ms | jit_compile ms | hlorun ms | times TensorFlow | times jit_compile | jit compiles s | hlorun s |",
             "|---|" + "--:|" * 7]
    good = [row for row in rows if "error" not in row["hlorun"]]
    for row in rows:
        h = row["hlorun"]
        if "error" in h:
            lines.append("| %s | **%s** |" % (row["name"], h["error"]))
            continue
        cells = ("refused", "", "")
        if row["jit"]:
            cells = ("%.4g" % (row["jit"] * 1e3), "%.2f" % (row["jit"] / h["best"]), "%.2f" % row["jit_compile"])
        lines.append("| %s%s | %.4g | %s | %.4g | %.2f | %s | %s | %.3f |" % (
            row["name"], " **differs**" if h["wrong"] else "", row["tf"] * 1e3, cells[0], h["best"] * 1e3,
            row["tf"] / h["best"],
            cells[1], cells[2], h["compile"]))
    lines.append("| **geometric mean** | | | | **%.2f** | **%.2f** | | |" % (
        geometric_mean([row["tf"] / row["hlorun"]["best"] for row in good]),
        geometric_mean([row["jit"] / row["hlorun"]["best"] for row in good if row["jit"]])))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hlorun", default="./hlorun")
    parser.add_argument("--out", default="bench")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--export", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    folder = os.path.join(options.out, "tf")
    os.makedirs(folder, exist_ok=True)
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    if not options.names:
        import tf_models
        options.names = list(tf_models.MODELS)
    for name in options.names:
        path = os.path.join(folder, name)
        if not os.path.exists(os.path.join(path, "feeds")):
            export(path, name)
        if options.export:
            continue
        row = measure(options, path, name)
        with open(path + ".json", "w") as file:
            json.dump(row, file)
        print(table([row]).splitlines()[2], flush=True)
    rows = [json.load(open(os.path.join(folder, f))) for f in sorted(os.listdir(folder)) if f.endswith(".json")]
    with open(os.path.join(options.out, "tf.md"), "w") as file:
        file.write(table(rows))
    print(table(rows).splitlines()[-1])
    return int(any("error" in row["hlorun"] or row["hlorun"]["wrong"] for row in rows))


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    sys.exit(main())
