"""Programs of long_tail.py as users of jax.numpy and jax.scipy write them: images, statistics, signals, integers."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from long_tail_tools import R, add, indices

special, stats = jax.scipy.special, jax.scipy.stats

# --- images
for kind in ("u8", "f32"):
    add(
        f"erode_{kind}",
        lambda x: functools.reduce(jnp.minimum, [x[i : 510 + i, j : 510 + j] for i in range(3) for j in range(3)]),
        R(kind, 512, 512),
    )
    add(f"threshold_{kind}", lambda x: jnp.where(x > 50, x.dtype.type(255), x.dtype.type(0)), R(kind, 512, 512))
add("rot90_u8", jnp.rot90, R("u8", 512, 512, 3))
add("absdiff_u8", lambda a, b: jnp.where(a > b, a - b, b - a), R("u8", 1 << 18), R("u8", 1 << 18))
add("int4_unpack", lambda x: jnp.stack([x & 15, x >> 4], -1).reshape(x.shape[0], -1), R("u8", 1024, 128))

# --- statistics
add("kde_bf16", lambda x, y: jnp.exp(-0.5 * (x[:, None] - y[None]) ** 2).mean(1), R("bf16", 512), R("bf16", 512))
add("kde_f32", lambda x, y: jnp.exp(-0.5 * (x[:, None] - y[None]) ** 2).mean(1), R("f32", 512), R("f32", 512))
add("beta_pdf", lambda x: stats.beta.pdf(jax.nn.sigmoid(x), 2.0, 3.0), R("f32", 16384))
add("kl_div", lambda x: special.kl_div(jnp.abs(x) + 0.1, jnp.abs(x) + 1), R("f32", 16384))
add("expi", lambda x: special.expi(jnp.abs(x) + 0.1), R("f32", 16384))
add("segment_max_f16", lambda x, i: jax.ops.segment_max(x, i, 512), R("f16", 16384), indices(512, 16384))
add("ldexp", lambda x: jnp.ldexp(x, 3), R("f32", 16384))

# --- signals
add(
    "rolling_max",
    lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 30), (1, 1), "VALID"),
    R("f32", 64, 4096),
)
add(
    "resample_poly",
    lambda x, h: lax.conv_general_dilated(x[:, None], h[None, None], (3,), ((15, 15),), lhs_dilation=(2,)),
    R("f32", 8, 8192),
    R("f32", 31),
)
add(
    "biquad",
    lambda x: lax.scan(
        lambda s, v: (lambda y: ((s[1] - 0.3 * y + 0.1 * v, 0.2 * v - 0.1 * y), y))(0.5 * v + s[0]),
        (jnp.float32(0), jnp.float32(0)),
        x,
    )[1],
    R("f32", 8192),
)

# --- linear algebra, loops
for size in (4, 8):
    add(f"qr_c64_{size}", jnp.linalg.qr, R("c64", 512, size, size))
    add(f"matrix_power_{size}", lambda a: jnp.linalg.matrix_power(a, 5), R("f32", 1024, size, size))
add(
    "double_pendulum",
    lambda y: lax.fori_loop(
        0,
        2000,
        lambda i, s: (
            s[0] + 0.01 * s[2],
            s[1] + 0.01 * s[3],
            s[2] - 0.01 * (jnp.sin(s[0]) * 9.8 + jnp.cos(s[0] - s[1]) * s[3]),
            s[3] - 0.01 * (jnp.sin(s[1]) * 9.8 - jnp.cos(s[0] - s[1]) * s[2]),
        ),
        tuple(y),
    ),
    R("f32", 4),
)
add("modexp_u32", lambda x: lax.fori_loop(0, 10, lambda i, s: (s * s) % np.uint32(65521), x), R("u32", 8192))
