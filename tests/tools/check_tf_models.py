#!/usr/bin/env python3
"""Compares hlorun with TensorFlow on whole graphs (tf_graphs.py, tf_user_graphs.py, tf_user_functions.py,
tf_user_signals.py, tf_user_sizes.py, tf_user_tasks.py) and on models (tf_keras_models.py, tf_user_models.py,
tf_user_layers.py, tf_user_networks.py, tf_user_states.py, and tf_models.py of the benchmarks), in both engines.

    check_tf_models.py HLORUN [--engines compiled,reference] [--keep FOLDER] [NAME...]

Needs tensorflow-cpu. Prints a line for each, and a count. Exits with 1 if anything differs, or if a graph of
tf_graphs.REFUSED is not refused. Results of training are losses of the steps and all variables after them."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "bench")]
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
SHORT = {"float32": "f32", "float64": "f64", "int32": "s32", "int64": "s64", "uint8": "u8", "bool": "pred",
         "float16": "f16"}
STEPS = 3


def compare(options, path, more):
    """What each engine said, empty where it agrees."""
    said = []
    arrays = np.load(path + ".npz")
    half = any(arrays[name].dtype == np.float16 for name in arrays.files)
    tolerance = "1e-2" if half else "2e-3"
    for engine in options.engines.split(","):
        start = time.time()
        command = [options.hlorun, "--engine=" + engine, "--cache", "none", "--input", path + ".npz", "--expect",
                   path + ".npz",
                   "--rtol", tolerance, "--atol", tolerance]
        try:
            done = subprocess.run(command + more, capture_output=True, text=True, errors="replace",
                                  timeout=options.limit)
            text = "" if done.returncode == 0 else "exit code %d: %s" % (done.returncode,
                                                                         (done.stderr + done.stdout).strip()[-400:])
        except subprocess.TimeoutExpired:
            text = "more than %d s" % options.limit
        said.append((engine, text.replace("\n", " | "), time.time() - start))
    return said


def judge_refusal(operation, text):
    """Empty where the engine has refused the graph for its operation."""
    return "" if text.startswith("exit code 3:") and operation in text else text or "is not refused"


def check_graph(options, name, folder):
    import tf_graphs
    function, arrays = tf_graphs.GRAPHS[name]
    path = os.path.join(folder, name)
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        feeds = [tf1.placeholder(x.dtype, x.shape, "in%d" % i) for i, x in enumerate(arrays)]
        results = [tf.identity(r, "out%d" % i) for i, r in enumerate(tf.nest.flatten(function(*feeds)))]
        values = session.run(results, dict(zip(feeds, arrays)))
    with open(path + ".pb", "wb") as file:
        file.write(graph.as_graph_def().SerializeToString(deterministic=True))
    np.savez(path + ".npz", **{"in%d" % i: x for i, x in enumerate(arrays)},
             **{"out%d" % i: v for i, v in enumerate(values)})
    more = []
    for i in range(len(arrays)):
        more += ["--feed", "in%d" % i]
    for i in range(len(results)):
        more += ["--fetch", "out%d" % i]
    said = compare(options, path, more + [path + ".pb"])
    operation = tf_graphs.REFUSED.get(name)
    return [(engine, judge_refusal(operation, text) if operation else text, seconds) for engine, text, seconds in said]


def check_model(options, name, folder, models):
    """A prediction once, a step of training STEPS times, where the results are those of the last step."""
    import keras
    keras.utils.set_random_seed(3)
    keras.backend.clear_session()
    path = os.path.join(folder, name)
    module, function, inputs = models[name]()
    tf.saved_model.save(module, path, signatures=function)
    arrays = {"in%d" % i: inputs[key] for i, key in enumerate(sorted(inputs))}
    steps = STEPS if name.endswith("_train") else 1
    for _ in range(steps):
        results = function(*inputs.values())
    arrays.update({"out%d" % i: results[key].numpy() for i, key in enumerate(sorted(results))})
    np.savez(path + ".npz", **arrays)
    more = ["--steps", str(steps)] if steps > 1 else []
    for key, x in inputs.items():
        more += ["--feed", "%s=%s[%s]" % (key, SHORT[x.dtype.name], ",".join(map(str, x.shape)))]
    return compare(options, path, more + [path])


def all_names():
    import tf_graphs
    import tf_keras_models
    import tf_models
    import tf_user_functions  # noqa: F401, registers its graphs in tf_graphs
    import tf_user_signals  # noqa: F401, registers its graphs
    import tf_user_graphs  # noqa: F401, registers its graphs
    import tf_user_layers
    import tf_user_models
    import tf_user_networks
    import tf_user_sizes  # noqa: F401, registers its graphs
    import tf_user_states
    import tf_user_tasks  # noqa: F401, registers its graphs
    modules = (tf_models, tf_keras_models, tf_user_models, tf_user_layers, tf_user_networks, tf_user_states)
    models = {name: make for module in modules for name, make in module.MODELS.items()}
    return tf_graphs.GRAPHS, models


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hlorun")
    parser.add_argument("--engines", default="compiled,reference")
    parser.add_argument("--keep", help="folder for graphs and arrays")
    parser.add_argument("--limit", type=int, default=600, help="seconds for a run")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    graphs, models = all_names()
    names = options.names or list(graphs) + list(models)
    good = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                said = check_graph(options, name, options.keep or folder) if name in graphs else check_model(
                    options, name, options.keep or folder, models)
            except Exception as error:
                said = [("TensorFlow", "%s: %s" % (type(error).__name__, str(error).replace("\n", " | ")[:400]), 0)]
            good += sum(not text for _, text, _ in said)
            bad += sum(bool(text) for _, text, _ in said)
            print("%s: %s" % (name, ", ".join("%s %s (%.1f s)" % (e, text or "agrees", s) for e, text, s in said)),
                  flush=True)
    print("%d graphs and models: %d runs agree, %d differ" % (len(names), good, bad))
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
