"""Trains a small GPT by jit with shardings: the windows of a step are cut over the axis "data" of a mesh, heads and
feed-forward layers over the axis "model". The program says nothing about devices; the partitioner makes the
collectives.

  HLORUN_DEVICES=8 python gpt.py FOLDER       eight devices in one process
  hlorun -n 8 python gpt.py FOLDER            eight processes

FOLDER is examples/gpt, which has the text."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

CHARACTERS, WIDTH, HEADS, LAYERS, TIME, BATCH, STEPS = 64, 32, 2, 2, 32, 16, 200

windows = np.load(f"{sys.argv[1]}/windows.npy")
devices = jax.device_count()
model = 2 if devices % 2 == 0 else 1
mesh = jax.make_mesh((devices // model, model), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
rng = np.random.default_rng(1)  # the same numbers in all processes


def matrix(*shape):
    return (rng.standard_normal(shape) * 0.08).astype(np.float32)


# How each weight is cut; an axis that is not named keeps it whole.
block_cuts = {"q": P(None, "model"), "k": P(None, "model"), "v": P(None, "model"), "out": P("model"), "up": P(None, "model"),
              "down": P("model")}
cuts = {"characters": P(), "places": P(), "blocks": [block_cuts] * LAYERS}


def first_weights():
    sizes = {"q": (WIDTH, HEADS, WIDTH // HEADS), "out": (HEADS, WIDTH // HEADS, WIDTH), "up": (WIDTH, 4 * WIDTH),
             "down": (4 * WIDTH, WIDTH)}
    sizes["k"] = sizes["v"] = sizes["q"]
    return {"characters": matrix(CHARACTERS, WIDTH), "places": matrix(TIME, WIDTH),
            "blocks": [{name: matrix(*sizes[name]) for name in block_cuts} for _ in range(LAYERS)]}


def normalise(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attend(x, block):
    q, k, v = (jnp.einsum("btc,chd->bhtd", x, block[name]) for name in "qkv")
    past = jnp.tril(jnp.ones((TIME, TIME), bool))
    scores = jnp.where(past, q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH // HEADS).astype(np.float32), -1e9)
    return jnp.einsum("bhtd,hdc->btc", jax.nn.softmax(scores) @ v, block["out"])


def loss_of(weights, text):
    x = weights["characters"][text[:, :-1]] + weights["places"]
    for block in weights["blocks"]:
        x = x + attend(normalise(x), block)
        x = x + jax.nn.gelu(normalise(x) @ block["up"]) @ block["down"]
    logs = jax.nn.log_softmax(x @ weights["characters"].T)
    return -jnp.mean(jnp.take_along_axis(logs, text[:, 1:, None], -1))


def step(state, text):
    weights, means, squares = state
    loss, gradients = jax.value_and_grad(loss_of)(weights, text)
    means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
    squares = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, squares, gradients)
    weights = jax.tree.map(lambda w, m, v: w - 3e-3 * m / (jnp.sqrt(v) + 1e-8), weights, means, squares)
    return (weights, means, squares), loss


def put(array, cut):
    return jax.make_array_from_callback(array.shape, cut, lambda part: array[part])


whole = NamedSharding(mesh, P())
weight_cuts = jax.tree.map(lambda cut: NamedSharding(mesh, cut), cuts, is_leaf=lambda cut: isinstance(cut, P))
state_cuts, text_cut = (weight_cuts,) * 3, NamedSharding(mesh, P("data"))
train = jax.jit(step, in_shardings=(state_cuts, text_cut), out_shardings=(state_cuts, whole), donate_argnums=0)
weights = first_weights()
zeros = jax.tree.map(np.zeros_like, weights)
state = jax.tree.map(put, (weights, zeros, zeros), state_cuts)
for number in range(STEPS):
    text = windows[rng.integers(0, len(windows), BATCH)].astype(np.int32)
    state, loss = train(state, put(text, text_cut))
    if jax.process_index() == 0 and (number + 1) % 50 == 0:
        print(f"step {number + 1} loss {float(loss):.3f}")
if jax.process_index() == 0:
    print(f"mesh {dict(mesh.shape)} of {devices} devices in {jax.process_count()} processes")
