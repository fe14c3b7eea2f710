#!/usr/bin/env python3
"""Compares hlorun with TensorFlow on random calls of its operations (tf_op_inputs.py), of every type that XLA's CPU
kernels take and several attributes, in both engines.

    check_tf_ops.py HLORUN [--keep FOLDER] [OP...]

All calls of an operation are one graph; if it fails, each of them is tried alone. The results wanted are those of
TensorFlow's CPU kernels, and of XLA where there is no such kernel or hlorun agrees with XLA instead. Needs
tensorflow-cpu. Prints what differs and a count; --coverage counts what XLA's CPU kernels register instead; --keep
writes graphs and results of operations that agree as X.pb and X.npz. Exits with 1 if anything differs."""
import argparse
import inspect
import itertools
import os
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tf_op_inputs import C, OPS
from tf_op_programs import P

tf1 = tf.compat.v1
# Numbers of digits that a type has; formulas of several steps lose some.
TOLERANCE = {"float64": 1e-6, "float32": 1e-4, "float16": 2e-2, "bfloat16": 6e-2, "complex64": 2e-4, "complex128": 1e-6}
TOLERANCE.update({"float8_e4m3fn": 0.13, "float8_e4m3fnuz": 0.13, "float8_e4m3b11fnuz": 0.13, "float8_e5m2": 0.26,
                  "float8_e5m2fnuz": 0.26})
LEFT_OUT = {"variant", "string", "resource"}


def type_settings(name):
    """Types of each type attribute by XLA's kernels, else by the CPU's: all of one attribute with the first of the
    others."""
    def usable(types):
        return [t for t in types if t not in LEFT_OUT]
    attrs = [a.name for a in op_def_registry.get(name).attr if a.type == "type"]
    wanted = [p for p in inspect.signature(OPS[name]).parameters if p in attrs]
    seen = set()
    found = kernels.get_registered_kernels_for_op(name).kernel
    device = "XLA_CPU_JIT" if any(k.device_type == "XLA_CPU_JIT" for k in found) else "CPU"
    for kernel in found:
        if kernel.device_type != device:
            continue
        allowed = {c.name: usable([tf.as_dtype(t).name for t in c.allowed_values.list.type]) for c in kernel.constraint}
        lists = [allowed.get(a) or usable_default(name, a) for a in wanted]
        combinations = itertools.product(*lists)
        if np.prod([len(x) for x in lists] or [1]) > 150:
            combinations = (tuple(x if i == k else lists[i][0] for i in range(len(lists)))
                            for k in range(len(lists)) for x in lists[k])
        for types in combinations:
            if types not in seen:
                seen.add(types)
                yield dict(zip(wanted, types))


def usable_default(name, attr):
    found = next(a for a in op_def_registry.get(name).attr if a.name == attr)
    listed = [tf.as_dtype(t).name for t in found.allowed_values.list.type if tf.as_dtype(t).name not in LEFT_OUT]
    return listed or ["float32", "int32"]


def plain(x):
    """The integers of an array of a quantised type, which NumPy has as a structure."""
    return x.view(x.dtype[0]) if x.dtype.fields else x


def tensors_of(results):
    return [x for x in tf.nest.flatten(results) if isinstance(x, tf.Tensor)]


class Call:
    """One call: its arguments, and the placeholders' arrays in order."""
    def __init__(self, name, types, arguments):
        self.name, self.types, self.arguments = name, types, arguments
        if isinstance(arguments, P):
            self.arrays = arguments.arrays
            return
        self.arrays = [x for v in arguments.values() for x in (v if isinstance(v, list) else [v]) if isinstance(x,
            np.ndarray)
                       or isinstance(x, np.generic)]

    def build(self, tensors):
        """The call with tensors in place of the arrays; a name of an operation stands for its result."""
        if isinstance(self.arguments, P):
            return tensors_of(self.arguments.function(*tensors))
        tensors = iter(tensors)

        def convert(x):
            if isinstance(x, C):
                return tf.constant(x.value)
            return next(tensors) if isinstance(x, (np.ndarray, np.generic)) else x
        arguments = {k: [convert(x) for x in v] if isinstance(v, list) else convert(v) for k,
                     v in self.arguments.items()}
        if isinstance(arguments.get("orig_output"), str):
            options = {k: v for k, v in arguments.items() if k in ("ksize", "strides", "padding", "data_format")}
            if "V2" in self.name:
                options = {k: v for k, v in options.items() if k not in ("ksize", "strides")}
                options.update({k: list(map(int, self.arguments[k].value)) for k in ("ksize", "strides")})
            arguments["orig_output"] = getattr(tf.raw_ops, arguments["orig_output"])(input=arguments["orig_input"],
                **options)
        return tensors_of(getattr(tf.raw_ops, self.name)(**arguments))

    def __str__(self):
        if isinstance(self.arguments, P):
            return "%s %s" % (self.name, self.types)
        shown = {k: v.value.tolist() if isinstance(v, C) else v for k, v in self.arguments.items()
                 if not isinstance(v, (np.ndarray, np.generic, list)) or isinstance(v, list) and not isinstance(v[0],
                     np.ndarray)}
        return "%s %s %s" % (self.name, self.types, shown)


def can_build(call):
    """Whether the definition of the operation takes these types: kernels have more of them."""
    try:
        with tf.Graph().as_default():
            call.build([tf1.placeholder(x.dtype, x.shape) for x in call.arrays])
        return True
    except TypeError:
        return False


def by_session(call):
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        feeds = [tf1.placeholder(x.dtype, x.shape) for x in call.arrays]
        return session.run(call.build(feeds), dict(zip(feeds, call.arrays)))


def by_cpu(call):
    try:
        if isinstance(call.arguments, P):
            return by_session(call)
        return [x.numpy() for x in call.build([tf.constant(x) for x in call.arrays])]
    except Exception:
        return None


# TensorFlow hands arrays of these types to XLA, and takes them back, with one element a byte, where XLA packs them.
PACKED = {"int2": tf.int8, "uint2": tf.uint8, "int4": tf.int8, "uint4": tf.uint8}


def by_xla(call):
    def function(*tensors):
        results = call.build([tf.cast(x, a.dtype) for x, a in zip(tensors, call.arrays)])
        return [tf.cast(r, PACKED.get(r.dtype.name, r.dtype)) for r in results], [r.dtype for r in results]

    def unpacked(x):
        return x.astype(PACKED[x.dtype.name].as_numpy_dtype) if x.dtype.name in PACKED else x
    try:
        types = []

        def values(*tensors):
            results, types[:] = function(*tensors)
            return results
        results = tf.function(values, jit_compile=True)(*[tf.constant(unpacked(x)) for x in call.arrays])
        return [x.numpy().astype(t.as_numpy_dtype) if t.name in PACKED else x.numpy() for x, t in zip(results, types)]
    except Exception as error:
        call.refused = str(error).splitlines()[0][:150]
        return None


def run(options, calls, engine, folder):
    """Results of hlorun per call, or what it said."""
    graph = tf.Graph()
    arrays, counts, fetches = {}, [], []
    with graph.as_default():
        for call in calls:
            feeds = []
            for x in call.arrays:
                feeds.append(tf1.placeholder(x.dtype, x.shape, "in%d" % len(arrays)))
                arrays["in%d" % len(arrays)] = plain(x)
            results = call.build(feeds)
            counts.append(len(results))
            for r in results:
                fetches.append(tf.identity(r, "out%d" % len(fetches)).name)
    path = os.path.join(folder, "ops")
    definition = graph.as_graph_def()
    with open(path + ".pb", "wb") as file:
        file.write(definition.SerializeToString(deterministic=True))
    command = [options.hlorun, "--engine=" + engine, "--output", path + ".out.npz"]
    for x in arrays:
        command += ["--feed", x]
    for node in definition.node:  # parameters, although the graph gives each a value before it reads it
        if node.op == "VarHandleOp":
            sizes = [d.size for d in node.attr["shape"].shape.dim]
            zeros = np.zeros(sizes, tf.as_dtype(node.attr["dtype"].type).as_numpy_dtype)
            arrays["in%d" % len(arrays)] = plain(zeros)
    np.savez(path + ".npz", **arrays)
    for f in fetches:
        command += ["--fetch", f]
    if os.path.exists(path + ".out.npz"):
        os.remove(path + ".out.npz")
    done = subprocess.run(command + (["--input", path + ".npz"] if arrays else []) + [path + ".pb"],
                          capture_output=True, text=True,
                          errors="replace")
    if done.returncode or not os.path.exists(path + ".out.npz"):
        return None, (done.stderr or done.stdout).strip()
    with np.load(path + ".out.npz") as file:
        out = [file["out%d" % k] for k in range(len(fetches))]
    places = np.cumsum([0] + counts)
    return [out[a:b] for a, b in zip(places, places[1:])], ""


def differ(got, want):
    """What is different; empty: nothing."""
    want = plain(want)
    if got.dtype.kind == "V" and got.dtype.itemsize == want.dtype.itemsize:
        got = got.view(want.dtype)
    if want.dtype != got.dtype or want.shape != got.shape:
        if not (want.dtype.itemsize == got.dtype.itemsize and want.shape == got.shape):
            return "%s%s, want %s%s" % (got.dtype, list(got.shape), want.dtype, list(want.shape))
        got = got.view(want.dtype)
    tolerance = TOLERANCE.get(tf.as_dtype(want.dtype).name, 0)
    if not tolerance:
        wrong = np.asarray(got != want)
    else:
        wide = np.complex128 if tf.as_dtype(want.dtype).is_complex else np.float64
        got, want = got.astype(wide), want.astype(wide)
        with np.errstate(all="ignore"):
            near = np.abs(got - want) <= tolerance * (1 + np.abs(want))
        wrong = ~(near | (got == want) | (np.isnan(got) & np.isnan(want)))
    if not wrong.any():
        return ""
    at = tuple(np.argwhere(wrong)[0]) if wrong.ndim else ()
    return "%d of %d, at %s: %s, want %s" % (wrong.sum(), wrong.size, list(map(int, at)), got[at], want[at])


def compare(call, got):
    """Empty if the results are those of the CPU or of XLA."""
    call.cpu = call.cpu if hasattr(call, "cpu") else by_cpu(call)
    said = []
    if call.cpu is not None:
        said.append(next(filter(None, map(differ, got, call.cpu)), ""))
        if not said[-1]:
            return ""
    call.xla = call.xla if hasattr(call, "xla") else by_xla(call)
    if call.xla is not None:
        said.append(next(filter(None, map(differ, got, call.xla)), ""))
        if not said[-1]:
            return ""
    return " | XLA: ".join(said) if said else "SKIP neither TensorFlow's CPU nor XLA takes it"


def check_op(options, name, folder):
    """Counts of calls that agree, differ and have nothing to be compared with."""
    calls = [Call(name, types, arguments) for types in type_settings(name) for arguments in OPS[name](**types)]
    good = bad = 0
    skipped = sum(not can_build(call) for call in calls)
    calls = [call for call in calls if can_build(call)]
    for engine in options.engines:
        results, said = run(options, calls, engine, folder)
        if results is None:
            pairs = [run(options, [call], engine, folder) for call in calls]
            results = [(r[0] if r else None, s) for r, s in pairs]
        else:
            results = [(r, "") for r in results]
        for call, (got, text) in zip(calls, results):
            wrong = compare(call, got) if got is not None else "REFUSED " + text.replace("\n", " ")[:260]
            if wrong.startswith("REFUSED") and by_cpu(call) is None and by_xla(call) is None:
                wrong = "SKIP"
            if wrong.startswith("SKIP"):
                skipped += 1
            elif wrong:
                bad += 1
                print("  %s %s: %s" % (engine, call, wrong), flush=True)
            else:
                good += 1
    print("%s: %d agree, %d differ%s" % (name, good, bad, ", %d without a reference" % skipped if skipped else ""),
          flush=True)
    if options.keep and not bad:
        os.replace(os.path.join(folder, "ops.pb"), os.path.join(options.keep, name + ".pb"))
    return good, bad, skipped


def run_workers(options, arguments):
    """Counts of a process that checks the operations one after another; TensorFlow itself ends it on some calls, and
    another one goes on with the operation after that."""
    total, names = np.zeros(3, int), list(options.names or OPS)
    while names:
        worker = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker"] + arguments + names,
                                  stdout=subprocess.PIPE,
                                  text=True, errors="replace")
        for line in worker.stdout:
            print(line, end="", flush=True)
            if line.split(":")[0] == names[0]:
                counts = re.search(r": (\d+) agree, (\d+) differ(?:, (\d+) without)?", line)
                total += [int(x or 0) for x in counts.groups()] if counts else [0, 1, 0]
                names.pop(0)
                if not names:
                    break
        worker.stdout.close()
        if worker.wait() >= 0 or not names:
            break
        print("%s: TensorFlow ended the process by signal %d" % (names.pop(0), -worker.returncode), flush=True)
        total[2] += 1
    return total


def work(options):
    """The operations, one line each."""
    tf.function(lambda x: x + 1, jit_compile=True)(1.0)  # registers XLA's kernels
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            try:
                check_op(options, name, folder)
            except Exception as error:
                print("%s: %s: %s" % (name, type(error).__name__, str(error)[:400]), flush=True)


def coverage():
    """How many of the operations with kernels for XLA_CPU_JIT have a row in tf_ops.def, and calls here."""
    tf.function(lambda x: x + 1, jit_compile=True)(1.0)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "..", "runtime", "tf", "compile", "tf_ops.def")) as file:
        rows = set(re.findall(r'^TF_OP\("(\w+)"', file.read(), re.M))
    registered = {k.op for k in kernels.get_all_registered_kernels().kernel if k.device_type == "XLA_CPU_JIT"}
    print("TensorFlow %s registers %d operations for XLA_CPU_JIT: %d have a row in tf_ops.def, %d calls in the generator" % (
        tf.__version__, len(registered), len(registered & rows), len(registered & set(OPS))))
    print("without a row: %s" % (" ".join(sorted(registered - rows)) or "none"))
    print("without calls: %s" % (" ".join(sorted(registered - set(OPS))) or "none"))
    return int(20 * len(registered & rows) < 19 * len(registered))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hlorun", nargs="?", default="./hlorun")
    parser.add_argument("--keep")
    parser.add_argument("--engines", default="reference,compiled")
    parser.add_argument("--first", help="begin with this operation of the table")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    options.engines = options.engines.split(",")
    if options.coverage:
        return coverage()
    if options.first:
        options.names = list(OPS)[list(OPS).index(options.first):]
    if options.worker:
        work(options)
        return 0
    own = ["--engines", ",".join(options.engines)] + (["--keep",
                                                       options.keep] if options.keep else []) + [options.hlorun]
    total = run_workers(options, own)
    print("%d operations: %d calls agree, %d differ, %d without a reference" % (len(options.names or OPS), *total))
    return int(total[1] > 0)


if __name__ == "__main__":
    sys.exit(main())
