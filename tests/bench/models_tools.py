"""What the models of bench_models.py share: their table, random inputs, layers and optimisers."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

rng = np.random.default_rng(11)
f32, bf16 = np.float32, jnp.bfloat16
P = {}


def model(name, *args):
    def add(function):
        P[name] = (function, args)
        return function
    return add


def normal(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(f32)


def uniform(low, high, *shape):
    return rng.uniform(low, high, shape).astype(f32)


def ones(*shape):
    return np.ones(shape, f32)


def integers(low, high, *shape):
    return rng.integers(low, high, shape).astype(np.int32)


def layer_norm(x, g, b):
    mean = x.mean(-1, keepdims=True)
    var = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * g + b


def rms_norm(x, g):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * g


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def adamw(w, m, v, g, step):
    """AdamW with clipping by the global norm, as optax.chain writes it."""
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(x)) for x in jax.tree.leaves(g)))
    g = jax.tree.map(lambda x: jnp.where(norm < 1.0, x, x / norm), g)
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.95 * a + 0.05 * b * b, v, g)
    c1, c2 = 1 - 0.9 ** step, 1 - 0.95 ** step
    w = jax.tree.map(lambda p, a, b: p - 3e-4 * (a / c1 / (jnp.sqrt(b / c2) + 1e-8) + 0.1 * p), w, m, v)
    return w, m, v


def zeros_like(tree):
    return jax.tree.map(np.zeros_like, tree)
