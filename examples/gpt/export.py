#!/usr/bin/env python3
"""Exports a small GPT from JAX: run by hand when the model changes; nothing that is built or tested needs it.

    pip install jax numpy
    python examples/gpt/export.py        # writes the files beside it

train.hlo     one step of a data-parallel job: forward, backward, the mean of the gradients over all processes, update
global.mlir   the same step as one device would do it, on a batch of 16, for --mesh and --sharding
init.npz      what the first step starts from: weights, then the two moments of their gradients
windows.npy   text.txt as numbers of characters, in overlapping windows of TIME + 1

The gradient of each weight is averaged by an all-reduce of its own, as jax.lax.pmean makes them: it is hlorun that
joins the small ones, and begins each as soon as the backward pass has made it.
"""
import os
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

HERE = os.path.dirname(os.path.abspath(__file__))
CHARACTERS, WIDTH, HEADS, LAYERS, TIME, BATCH = 64, 32, 2, 3, 32, 8
GLOBAL_BATCH = 16
LEARNING_RATE, BETA1, BETA2, EPSILON = 3e-3, 0.9, 0.99, 1e-8

jax.config.update("jax_use_shardy_partitioner", False)  # plain all-reduces, no custom calls around them


def first_weights(rng):
    def matrix(*shape):  # rounded: the file is half as long
        return (rng.standard_normal(shape) * 0.08).astype(np.float16).astype(np.float32)

    def block():
        return {"qkv": matrix(WIDTH, 3 * WIDTH), "out": matrix(WIDTH, WIDTH), "up": matrix(WIDTH, 4 * WIDTH),
                "down": matrix(4 * WIDTH, WIDTH), "scale1": np.ones(WIDTH, np.float32),
                "scale2": np.ones(WIDTH, np.float32)}

    return {"characters": matrix(CHARACTERS, WIDTH), "places": matrix(TIME, WIDTH),
            "blocks": [block() for _ in range(LAYERS)]}


def normalise(x, scale):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale


def attend(x, block):
    def heads(z):
        return z.reshape(-1, TIME, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    q, k, v = map(heads, jnp.split(x @ block["qkv"], 3, -1))
    past = jnp.tril(jnp.ones((TIME, TIME), bool))
    scores = jnp.where(past, q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH // HEADS).astype(np.float32), -1e9)
    return (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ block["out"]


def loss_of(weights, windows):
    text = windows.astype(jnp.int32)
    one_hot = jax.nn.one_hot(text, CHARACTERS, dtype=jnp.float32)
    x = one_hot[:, :-1] @ weights["characters"] + weights["places"]
    for block in weights["blocks"]:
        x = x + attend(normalise(x, block["scale1"]), block)
        x = x + jax.nn.gelu(normalise(x, block["scale2"]) @ block["up"]) @ block["down"]
    logs = jax.nn.log_softmax(x @ weights["characters"].T)
    return -jnp.sum(logs * one_hot[:, 1:]) / (windows.shape[0] * TIME)


def update(weights, means, squares, gradients):
    means = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, means, gradients)
    squares = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, squares, gradients)
    weights = jax.tree.map(lambda w, m, v: w - LEARNING_RATE * m / (jnp.sqrt(v) + EPSILON), weights, means, squares)
    return weights, means, squares


def train_step(weights, means, squares, windows):
    loss, gradients = jax.value_and_grad(loss_of)(weights, windows)
    processes = jax.lax.psum(jnp.float32(1) + 0 * loss, "replicas")
    gradients = jax.tree.map(lambda g: jax.lax.psum(g, "replicas") / processes, gradients)
    return jax.lax.psum(loss, "replicas") / processes, *update(weights, means, squares, gradients)


def global_step(weights, means, squares, windows):
    loss, gradients = jax.value_and_grad(loss_of)(weights, windows)
    return loss, *update(weights, means, squares, gradients)


def any_replicas(text):
    """An export on one device names that device's group; empty groups mean all replicas, however many there are."""
    one_device = r"channel_id=\d+, replica_groups=\{\{0\}\}, use_global_device_ids=true"
    text, count = re.subn(one_device, "replica_groups={}", text)
    assert count > 0
    return text


def windows_of(path):
    with open(path, encoding="ascii") as file:
        text = file.read()
    alphabet = sorted(set(text))
    assert len(alphabet) <= CHARACTERS, len(alphabet)
    numbers = np.array([alphabet.index(c) for c in text], np.uint8)
    return np.lib.stride_tricks.sliding_window_view(numbers, TIME + 1)[::3].copy()


def main():
    weights = first_weights(np.random.default_rng(3))
    zeros = jax.tree.map(np.zeros_like, weights)
    windows = windows_of(os.path.join(HERE, "text.txt"))
    np.save(os.path.join(HERE, "windows.npy"), windows)
    start = [leaf for tree in (weights, zeros, zeros) for leaf in jax.tree.leaves(tree)]
    np.savez_compressed(os.path.join(HERE, "init.npz"), **{f"in{k}": value for k, value in enumerate(start)})
    print("carry", f"1-{len(start)}:0-{len(start) - 1}", "feed", len(start), "windows", windows.shape)

    everywhere = PartitionSpec()
    mesh = jax.make_mesh((1,), ("replicas",))
    mapped = jax.shard_map(train_step, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False)
    text = any_replicas(jax.jit(mapped).lower(weights, zeros, zeros, windows[:BATCH]).as_text("hlo"))
    with open(os.path.join(HERE, "train.hlo"), "w", encoding="utf-8") as file:
        file.write(text.rstrip("\n") + "\n")
    with open(os.path.join(HERE, "global.mlir"), "w", encoding="utf-8") as file:
        file.write(jax.jit(global_step).lower(weights, zeros, zeros, windows[:GLOBAL_BATCH]).as_text())


if __name__ == "__main__":
    main()
