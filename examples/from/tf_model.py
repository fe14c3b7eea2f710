"""A small model of TensorFlow as HLO with its variables and inputs: model.pb, in.npz, want.npz."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
w, b = tf.Variable(tf.random.normal((8, 3))), tf.Variable(tf.zeros(3))
x = tf.random.normal((2, 8))


@tf.function(jit_compile=True)
def model(x):
    return tf.nn.softmax(x @ w + b)


with open("model.pb", "wb") as file:
    file.write(model.experimental_get_compiler_ir(x)(stage="hlo_serialized"))
captured = model.get_concrete_function(x).captured_inputs
variables = [v for c in captured for v in (w, b) if v.handle is c]
np.savez("in.npz", **{f"in{k}": a.numpy() for k, a in enumerate([x, *variables])})
np.savez("want.npz", out0=model(x).numpy())
