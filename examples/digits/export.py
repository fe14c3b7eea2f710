#!/usr/bin/env python3
"""Exports the digit classifier from JAX: run by hand when the model changes; nothing that is built or tested needs it.

    pip install jax numpy
    python examples/digits/export.py        # writes the files beside it

train.hlo          one step of a data-parallel job: forward, backward, all-reduce of the gradients, Adam update
test.hlo           accuracy of the learnt weights on the test split
init.npz           what the first step starts from: weights, Adam's two moments, step number
train_*.npy, test_*.npy   the two splits of digits.npz

A process may hold any share of the global batch: the images come as u8[<=160,64], a dimension with a bound, and are
worked off in blocks of 20 rows by a loop whose length is the actual size. Losses and gradients are sums over rows,
summed over all processes and divided by the number of all rows. So one train.hlo makes the same step on 1, 2, 4 or 8
processes. JAX cannot write a bounded dimension, so the step takes the number of its rows as an argument, and
`bound_rows` puts get-dimension-size in its place.
"""
import os
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import PartitionSpec

HERE = os.path.dirname(os.path.abspath(__file__))
GLOBAL_BATCH, BLOCK, HIDDEN, CLASSES, TRAIN_ROWS = 160, 20, 64, 10, 1440
LEARNING_RATE, BETA1, BETA2, EPSILON = 4e-3, 0.9, 0.999, 1e-8

jax.config.update("jax_use_shardy_partitioner", False)  # plain all-reduce, no custom calls around it


def first_weights(rng):
    def layer(inputs, outputs):
        scale = np.sqrt(2 / inputs)
        return [(rng.standard_normal((inputs, outputs)) * scale).astype(np.float32), np.zeros(outputs, np.float32)]

    return layer(64, HIDDEN) + layer(HIDDEN, CLASSES)


def logits(weights, images):
    w1, b1, w2, b2 = weights
    x = images.astype(jnp.float32) / 16
    return jnp.maximum(x @ w1 + b1, 0) @ w2 + b2


def loss_sum(weights, images, labels):
    z = logits(weights, images)
    wanted = labels[:, None] == jnp.arange(CLASSES, dtype=labels.dtype)
    highest = jax.lax.stop_gradient(jnp.max(z, axis=1, keepdims=True))
    log_total = jnp.log(jnp.sum(jnp.exp(z - highest), axis=1, keepdims=True)) + highest
    return jnp.sum(jnp.where(wanted, log_total - z, 0))


def sums_over_rows(weights, images, labels, rows):
    """The loss and its gradients, summed over the first `rows` rows, block by block."""

    def block_of(array, k):
        start = (k * BLOCK,) + (0,) * (array.ndim - 1)
        return jax.lax.dynamic_slice(array, start, (BLOCK, *array.shape[1:]), allow_negative_indices=False)

    def add_block(k, sums):
        block = jax.value_and_grad(loss_sum)(weights, block_of(images, k), block_of(labels, k))
        return jax.tree.map(jnp.add, sums, block)

    zeros = jax.tree.map(jnp.zeros_like, weights)
    return jax.lax.fori_loop(0, jax.lax.div(rows, jnp.int32(BLOCK)), add_block, (jnp.float32(0), zeros))


def train_step(weights, means, squares, step, images, labels, rows):
    sums = (rows.astype(jnp.float32), *sums_over_rows(weights, images, labels, rows))
    flat, restore = ravel_pytree(sums)  # so that one all-reduce carries everything
    rows, loss, gradients = restore(jax.lax.psum(flat, "replicas"))
    gradients = [g / rows for g in gradients]
    step = step + 1
    means = [BETA1 * m + (1 - BETA1) * g for m, g in zip(means, gradients)]
    squares = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(squares, gradients)]
    rate = LEARNING_RATE * jnp.sqrt(1 - BETA2**step) / (1 - BETA1**step)
    weights = [w - rate * m / (jnp.sqrt(v) + EPSILON) for w, m, v in zip(weights, means, squares)]
    return loss / rows, weights, means, squares, step


def accuracy(weights, images, labels):
    right = jnp.argmax(logits(weights, images), axis=1).astype(labels.dtype) == labels
    return jnp.mean(right.astype(jnp.float32))


def any_replicas(text):
    """An export on one device names that device's group; empty groups mean all replicas, however many there are."""
    one_device = r"channel_id=\d+, replica_groups=\{\{0\}\}, use_global_device_ids=true"
    text, count = re.subn(one_device, "replica_groups={}", text)
    assert count == 1, count
    return text


def bound_rows(text):
    """Images and labels get a bounded first dimension; the last parameter, `rows`, becomes its actual size."""
    text = re.sub(r"\bu8\[160\b", "u8[<=160", text)
    images = re.search(r"(\S+) = u8\[<=160,64\]\S* parameter\(13\)", text[text.index("\nENTRY") :]).group(1)
    size = rf"s32[]\1 get-dimension-size({images}), dimensions={{0}}"
    head, entry = text.split("\nENTRY")
    entry, count = re.subn(r"s32\[\](\S*) parameter\(15\)", size, entry)
    head, layouts = re.subn(r", (/\*index=15\*/)?s32\[\]\)->", ")->", head, count=1)
    assert count == 1 and layouts == 1, (count, layouts)
    return head + "\nENTRY" + entry


def train_program(weights):
    images = jax.ShapeDtypeStruct((GLOBAL_BATCH, 64), jnp.uint8)
    labels = jax.ShapeDtypeStruct((GLOBAL_BATCH,), jnp.uint8)
    step, rows = jax.ShapeDtypeStruct((), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32)
    everywhere = PartitionSpec()
    mesh = jax.make_mesh((1,), ("replicas",))
    mapped = jax.shard_map(train_step, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False)
    lowered = jax.jit(mapped).lower(weights, weights, weights, step, images, labels, rows)
    return bound_rows(any_replicas(lowered.as_text("hlo")))


def write(name, text):
    with open(os.path.join(HERE, name), "w") as file:
        file.write(text.rstrip("\n") + "\n")


def main():
    rng = np.random.default_rng(2)
    digits = np.load(os.path.join(HERE, "digits.npz"))
    order = rng.permutation(len(digits["labels"]))
    images, labels = digits["images"].reshape(-1, 64)[order], digits["labels"][order]
    np.save(os.path.join(HERE, "train_images.npy"), images[:TRAIN_ROWS])
    np.save(os.path.join(HERE, "train_labels.npy"), labels[:TRAIN_ROWS])
    np.save(os.path.join(HERE, "test_images.npy"), images[TRAIN_ROWS:])
    np.save(os.path.join(HERE, "test_labels.npy"), labels[TRAIN_ROWS:])

    weights = first_weights(rng)
    zeros = [np.zeros_like(w) for w in weights]
    start = [*weights, *zeros, *zeros, np.float32(0)]
    np.savez_compressed(os.path.join(HERE, "init.npz"), **{f"in{k}": value for k, value in enumerate(start)})

    write("train.hlo", train_program(weights))
    write("test.hlo", jax.jit(accuracy).lower(weights, images[TRAIN_ROWS:], labels[TRAIN_ROWS:]).as_text("hlo"))


if __name__ == "__main__":
    main()
