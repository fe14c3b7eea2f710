"""A hundred kinds of calls of jax.numpy and jax.lax, each of which JAX dispatches op by op. Needs jax."""
import jax
import jax.numpy as jnp
import numpy as np


def eager_calls():
    """Calls without arguments, by name. Arrays are small: what counts is the way into the runtime and back."""
    rng = np.random.default_rng(3)
    x = jnp.asarray(rng.standard_normal((16, 16)), jnp.float32)
    y = jnp.asarray(rng.random((16, 16)) + 0.5, jnp.float32)
    v = jnp.asarray(rng.standard_normal(64), jnp.float32)
    w = jnp.asarray(rng.standard_normal(64), jnp.float32)
    i = jnp.asarray(rng.integers(0, 16, 16), jnp.int32)
    n = jnp.asarray(rng.integers(1, 100, 64), jnp.int32)
    m = jnp.asarray(rng.integers(1, 9, 64), jnp.int32)
    b = x > 0
    c = (x + 1j * y).astype(jnp.complex64)
    t = jnp.asarray(rng.standard_normal((4, 8, 8)), jnp.float32)
    s = y @ y.T + 16 * jnp.eye(16)
    key = jax.random.key(0)
    unary = ["abs", "negative", "exp", "expm1", "log", "log1p", "sqrt", "square", "sin", "cos", "tan", "tanh", "arctan",
             "sinh", "floor", "ceil", "round", "sign", "isnan", "isfinite", "reciprocal", "exp2", "cbrt"]
    binary = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "arctan2", "power", "floor_divide",
              "remainder", "greater", "equal", "less_equal", "hypot", "logaddexp", "copysign"]
    whole = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd"]
    reductions = ["sum", "mean", "max", "min", "prod", "var", "std", "argmax", "argmin", "all", "any", "cumsum",
                  "cumprod", "ptp", "median", "count_nonzero"]
    items = {name: lambda f=getattr(jnp, name): f(y) for name in unary}
    items.update({name: lambda f=getattr(jnp, name): f(x, y) for name in binary})
    items.update({name: lambda f=getattr(jnp, name): f(n, m) for name in whole})
    items.update({name: lambda f=getattr(jnp, name): f(x, axis=0) for name in reductions})
    items.update({
        "x + 1": lambda: x + 1, "x @ y": lambda: x @ y, "dot": lambda: jnp.dot(v, w), "outer": lambda: jnp.outer(v, w),
        "einsum": lambda: jnp.einsum("ij,kj->ik", x, y), "x.T": lambda: x.T, "reshape": lambda: x.reshape(4, 64),
        "ravel": lambda: x.ravel(), "transpose": lambda: jnp.transpose(t, (2, 0, 1)), "flip": lambda: jnp.flip(x, 0),
        "roll": lambda: jnp.roll(x, 3, 1), "concatenate": lambda: jnp.concatenate([x, y]),
        "stack": lambda: jnp.stack([x, y]), "split": lambda: jnp.split(x, 4), "where": lambda: jnp.where(b, x, y),
        "clip": lambda: jnp.clip(x, -1, 1), "x[3]": lambda: x[3], "x[2:9, ::2]": lambda: x[2:9, ::2],
        "x[i]": lambda: x[i], "x[:, None]": lambda: x[:, None], "x[b].set": lambda: x.at[b].set(0.0),
        "x.at[i].add": lambda: x.at[i].add(1.0), "x.at[3].set": lambda: x.at[3].set(0.0),
        "take": lambda: jnp.take(v, i),
        "sort": lambda: jnp.sort(v), "argsort": lambda: jnp.argsort(v), "zeros": lambda: jnp.zeros((16, 16)),
        "ones_like": lambda: jnp.ones_like(x), "arange": lambda: jnp.arange(64),
        "linspace": lambda: jnp.linspace(0, 1, 64),
        "eye": lambda: jnp.eye(16), "astype bf16": lambda: x.astype(jnp.bfloat16),
        "astype s32": lambda: x.astype(jnp.int32),
        "pad": lambda: jnp.pad(x, 2), "tile": lambda: jnp.tile(v, 3), "repeat": lambda: jnp.repeat(v, 3),
        "broadcast_to": lambda: jnp.broadcast_to(v, (8, 64)), "tril": lambda: jnp.tril(x), "diag": lambda: jnp.diag(x),
        "trace": lambda: jnp.trace(x), "norm": lambda: jnp.linalg.norm(v), "cholesky": lambda: jnp.linalg.cholesky(s),
        "solve": lambda: jnp.linalg.solve(s, v[:16]), "inv": lambda: jnp.linalg.inv(s), "fft": lambda: jnp.fft.fft(c),
        "real": lambda: jnp.real(c), "complex product": lambda: c * c, "interp": lambda: jnp.interp(v, w, w),
        "normal": lambda: jax.random.normal(key, (16, 16)), "split key": lambda: jax.random.split(key),
        "softmax": lambda: jax.nn.softmax(x), "relu": lambda: jax.nn.relu(x), "gelu": lambda: jax.nn.gelu(x),
        "one_hot": lambda: jax.nn.one_hot(i, 16), "top_k": lambda: jax.lax.top_k(v, 4),
        "searchsorted": lambda: jnp.searchsorted(v, w),
    })
    return items
