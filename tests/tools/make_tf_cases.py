#!/usr/bin/env python3
"""Makes the cases of tests/cases/tf: small TensorFlow graphs (X.pb) with inputs and TensorFlow's results (X.npz).

    make_tf_cases.py FOLDER [NAME...]

Needs tensorflow-cpu; the cases are kept, so that the tests do not. The order of the imports is that of the draws of
random numbers."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

from tf_case_registry import CASES, write
import tf_cases_operations  # noqa: F401, registers its cases
import tf_cases_gradients  # noqa: F401, registers its cases
import tf_saved_models as saved

tf1 = tf.compat.v1


def main():
    tf1.enable_control_flow_v2()
    folder, names = sys.argv[1], sys.argv[2:]
    for name in names or CASES:
        if name in CASES:
            write(name, folder)
    if not names or "adam" in names:
        saved.write_saved_model(folder)
        saved.write_shards(folder)
    if not names or "accumulation" in names:
        saved.write_accumulation(folder)
    if not names or "optimizers" in names:
        saved.write_optimizers(folder)
    if not names or "keras_training" in names:
        saved.write_keras_training(folder)
    if not names or "embedding_training" in names:
        saved.write_embedding_training(folder)
    if not names or "recurrent_training" in names:
        saved.write_recurrent_training(folder)
    if not names or any(name.startswith("keras") for name in names):
        saved.write_keras_models(folder, names)


main()
