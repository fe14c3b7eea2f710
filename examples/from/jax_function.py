"""A function with a tree of arguments: f.hlo, f.mlir, in.npz, and JAX's own results in want.npz."""

import jax
import jax.numpy as jnp
import numpy as np


def f(params, x):
    y = jnp.tanh(x @ params["w"] + params["b"])
    return {"y": y, "loss": jnp.mean(y * y)}


random = np.random.default_rng(1)
params = {"w": random.normal(size=(8, 3)).astype(np.float32), "b": np.zeros(3, np.float32)}
x = random.normal(size=(4, 8)).astype(np.float32)

lowered = jax.jit(f, keep_unused=True).lower(params, x)
with open("f.hlo", "w") as file:
    file.write(lowered.as_text("hlo"))
with open("f.mlir", "w") as file:
    file.write(lowered.as_text(debug_info=True))
np.savez("in.npz", **{f"in{i}": a for i, a in enumerate(jax.tree.leaves((params, x)))})
np.savez("want.npz", **{f"out{i}": np.asarray(a) for i, a in enumerate(jax.tree.leaves(f(params, x)))})
