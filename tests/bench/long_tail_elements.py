"""Programs of long_tail.py of random numbers, loops and functions of elements."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from long_tail_tools import R, TYPES, add, each, indices

# --- random numbers
key = jax.random.key_data(jax.random.key(3))


def random(draw):
    return lambda k: draw(jax.random.wrap_key_data(k))


for name, draw in (
    ("bits", lambda k: jax.random.bits(k, (1 << 18,))),
    ("uniform", lambda k: jax.random.uniform(k, (1 << 18,))),
    ("normal", lambda k: jax.random.normal(k, (1 << 18,))),
    ("normal_bf16", lambda k: jax.random.normal(k, (1 << 18,), jnp.bfloat16)),
    ("bits8", lambda k: jax.random.bits(k, (1 << 18,), jnp.uint8)),
    ("randint", lambda k: jax.random.randint(k, (1 << 16,), 0, 1000)),
    ("bernoulli", lambda k: jax.random.bernoulli(k, 0.3, (1 << 18,))),
    ("permutation", lambda k: jax.random.permutation(k, 1 << 14)),
    ("categorical", lambda k: jax.random.categorical(k, jnp.zeros((256, 128)))),
    ("gumbel", lambda k: jax.random.gumbel(k, (1 << 16,))),
    ("exponential", lambda k: jax.random.exponential(k, (1 << 16,))),
    ("gamma", lambda k: jax.random.gamma(k, 2.0, (1 << 10,))),
    ("truncated_normal", lambda k: jax.random.truncated_normal(k, -2.0, 2.0, (1 << 16,))),
    ("split", lambda k: jax.random.key_data(jax.random.split(k, 4096))),
    ("choice", lambda k: jax.random.choice(k, 1000, (4096,))),
    ("laplace", lambda k: jax.random.laplace(k, (1 << 16,))),
    ("cauchy", lambda k: jax.random.cauchy(k, (1 << 16,))),
    ("poisson", lambda k: jax.random.poisson(k, 3.0, (1 << 12,))),
    ("rademacher", lambda k: jax.random.rademacher(k, (1 << 16,))),
    ("keys_vmap", lambda k: jax.vmap(lambda j: jax.random.normal(j, (4,)))(jax.random.split(k, 4096))),
):
    add("random_" + name, random(draw), key)
add("rng_bit_generator", lambda k: lax.rng_bit_generator(k, (1 << 18,))[1], np.arange(4, dtype=np.uint32))


# --- loops
def repeat(n, body):
    return lambda x: lax.fori_loop(0, n, lambda i, s: body(s), x)


each("f32 f64 s32 bf16", "loop_scalar", repeat(20000, lambda x: x * x - x), *())
add(
    "fib_mod",
    lambda n: lax.fori_loop(0, 20000, lambda i, s: (s[1], (s[0] + s[1]) % n), (jnp.int32(0), jnp.int32(1))),
    np.int32(10007),
)
add(
    "collatz",
    lambda n: lax.while_loop(
        lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, jnp.int32(0))
    ),
    np.int32(511935),  # a long orbit whose numbers have 32 bits
)
for count, capacity in ((40, 500), (200, 2000)):
    add(
        f"knapsack_{count}",
        functools.partial(
            lambda size, weights, values: lax.scan(
                lambda best, item: (
                    jnp.where(jnp.arange(size) >= item[0], jnp.maximum(best, jnp.roll(best, item[0]) + item[1]), best),
                    None,
                ),
                jnp.zeros(size, jnp.int32),
                (weights, values),
            )[0],
            capacity,
        ),
        indices(50, count) + 1,
        indices(100, count),
    )
add(
    "gcd",
    lambda a, b: lax.while_loop(
        lambda s: jnp.any(s[1] != 0),
        lambda s: (jnp.where(s[1] != 0, s[1], s[0]), jnp.where(s[1] != 0, s[0] % jnp.where(s[1] == 0, 1, s[1]), 0)),
        (a, b),
    ),
    R("s32", 4096) + 200,
    R("s32", 4096) + 300,
)
add(
    "mandelbrot",
    lambda c: lax.fori_loop(0, 50, lambda i, z: jnp.where(jnp.abs(z) < 2, z * z + c, z), c),
    R("c64", 8192),
)
each("f32", "loop_tiny_vector", repeat(5000, lambda x: jnp.sin(x) * 1.1), 8)
each("f32", "loop_3x3", repeat(2000, lambda x: x @ x * 0.1 + 0.5), 3, 3)
each("f32", "loop_vector_1k", repeat(1000, lambda x: jnp.roll(x, 1) * 0.5 + x * 0.5), 1024)
add(
    "scan_lorenz",
    lambda s: lax.scan(
        lambda s, _: (
            (lambda d: (s + 0.01 * d,) * 2)(
                jnp.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])
            )
        ),
        s,
        None,
        length=4000,
    )[1],
    R("f32", 3),
)
add("scan_iir", lambda x: lax.scan(lambda c, v: (0.9 * c + 0.1 * v, c), jnp.float32(0), x)[1], R("f32", 16384))
add("scan_iir_batch", lambda x: lax.scan(lambda c, v: (0.9 * c + 0.1 * v, c), jnp.zeros(16), x)[1], R("f32", 2048, 16))
add(
    "scan_kalman",
    lambda x: lax.scan(
        lambda c, v: ((c[0] + (c[1] + 0.1) / (c[1] + 1.1) * (v - c[0]), (c[1] + 0.1) / (c[1] + 1.1)), c[0]),
        (jnp.float32(0), jnp.float32(1)),
        x,
    )[1],
    R("f32", 8192),
)
add(
    "scan_viterbi",
    lambda x, t: lax.scan(lambda c, v: ((c[:, None] + t).max(0) + v, (c[:, None] + t).argmax(0)), x[0], x),
    R("f32", 512, 16),
    R("f32", 16, 16),
)
add(
    "scan_gru",
    lambda x, w: lax.scan(lambda h, v: (jnp.tanh(h @ w + v), h), jnp.zeros((4, 16)), x)[1],
    R("f32", 512, 4, 16),
    R("f32", 16, 16) * 0.2,
)
add(
    "scan_grad",
    lambda x: jax.grad(lambda x: lax.scan(lambda c, v: (jnp.tanh(0.9 * c + v), c), jnp.float32(0), x)[1].sum())(x),
    R("f32", 4096),
)
add(
    "scan_linear_complex",
    lambda x, a: lax.scan(lambda c, v: (a * c + v, c), jnp.zeros(32, jnp.complex64), x)[1],
    R("c64", 1024, 32),
    R("c64", 32) * 0.5,
)
add(
    "newton_batch",
    lambda x: lax.fori_loop(0, 30, lambda i, y: y - (y * y * y - x) / (3 * y * y + 1e-3), x),
    np.abs(R("f32", 16384)) + 0.5,
)
add(
    "bisect_batch",
    lambda x: lax.fori_loop(
        0,
        30,
        lambda i, s: (lambda m: (jnp.where(m * m < x, m, s[0]), jnp.where(m * m < x, s[1], m)))(0.5 * (s[0] + s[1])),
        (x * 0, x + 1),
    )[0],
    np.abs(R("f32", 16384)),
)
add(
    "game_of_life",
    lambda x: lax.fori_loop(
        0,
        20,
        lambda i, b: (lambda n: ((n == 3) | ((b == 1) & (n == 2))).astype(jnp.uint8))(
            sum(jnp.roll(jnp.roll(b, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        ),
        x,
    ),
    R("u8", 128, 128) % 2,
)
add(
    "levenshtein",
    lambda a, b: lax.scan(
        lambda row, x: (lambda r: (r, None))(
            lax.associative_scan(
                jnp.minimum,
                jnp.minimum(row + 1, jnp.concatenate([row[:1] + 1, row[:-1] + (b != x)])) - jnp.arange(257)[: len(row)],
            )
            + jnp.arange(257)[: len(row)]
        ),
        jnp.arange(256),
        a,
    )[0],
    indices(4, 256),
    indices(4, 255),
)
add(
    "sieve",
    lambda x: lax.fori_loop(2, 64, lambda i, s: s & ((jnp.arange(4096) % i != 0) | (jnp.arange(4096) == i)), x),
    np.ones(4096, bool),
)
add(
    "rk4",
    lambda y: lax.fori_loop(
        0,
        200,
        lambda i, y: (
            lambda f: (
                lambda k1: (
                    lambda k2: (lambda k3: y + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + 0.01 * k3)))(f(y + 0.005 * k2))
                )(f(y + 0.005 * k1))
            )(f(y))
        )(lambda y: jnp.stack([y[1], -jnp.sin(y[0])])),
        y,
    ),
    R("f32", 2, 256),
)
add(
    "cond_loop",
    lambda x: lax.fori_loop(0, 2000, lambda i, s: lax.cond(i % 3 == 0, lambda s: s + 1, lambda s: s * 0.5, s), x),
    R("f32", 32),
)

# --- elements
for kind in ("f32", "f64", "bf16", "f16"):
    for name, f in (
        ("exp", jnp.exp),
        ("log", lambda x: jnp.log(jnp.abs(x))),
        ("tanh", jnp.tanh),
        ("sin", jnp.sin),
        ("erf", lax.erf),
        ("sigmoid", jax.nn.sigmoid),
        ("gelu", jax.nn.gelu),
        ("silu", jax.nn.silu),
        ("softplus", jax.nn.softplus),
        ("rsqrt", lambda x: lax.rsqrt(jnp.abs(x))),
        ("cbrt", jnp.cbrt),
        ("pow", lambda x: jnp.abs(x) ** (x + x)),
        ("pow_const", lambda x: jnp.abs(x) ** 2.3),
        ("atan2", lambda x: jnp.arctan2(x, x + 1)),
        ("fma", lambda x: x * x + x),
        ("divide", lambda x: x / (x + 3)),
        ("round", jnp.round),
        ("floor_mod", lambda x: x % 1.5),
        ("sign", jnp.sign),
        ("expm1", jnp.expm1),
        ("log1p", lambda x: jnp.log1p(jnp.abs(x))),
        ("tan", jnp.tan),
        ("asin", lambda x: jnp.arcsin(x * 0.1)),
        ("acosh", lambda x: jnp.arccosh(jnp.abs(x) + 1)),
        ("sinh", jnp.sinh),
        ("compare", lambda x: (x > 0.5) & (x < 1)),
        ("clip", lambda x: jnp.clip(x, -1, 1)),
        ("isfinite", jnp.isfinite),
    ):
        add(f"{name}_{kind}", f, R(kind, 1 << 16))
for name, f in (
    ("lgamma", lax.lgamma),
    ("digamma", lax.digamma),
    ("erf_inv", lambda x: lax.erf_inv(x * 0.2)),
    ("igamma", lambda x: lax.igamma(jnp.abs(x) + 0.5, jnp.abs(x) + 1)),
    ("igammac", lambda x: lax.igammac(jnp.abs(x) + 0.5, jnp.abs(x) + 1)),
    ("bessel_i0e", lax.bessel_i0e),
    ("bessel_i1e", lax.bessel_i1e),
    ("betainc", lambda x: jax.scipy.special.betainc(jnp.abs(x) + 0.5, 2.0, jax.nn.sigmoid(x))),
    ("zeta", lambda x: jax.scipy.special.zeta(jnp.abs(x) + 1.5, 2.0)),
    ("polygamma", lambda x: jax.scipy.special.polygamma(1, jnp.abs(x) + 1)),
    ("ndtri", lambda x: jax.scipy.special.ndtri(jax.nn.sigmoid(x))),
    ("erfc", lax.erfc),
    ("log_ndtr", jax.scipy.special.log_ndtr),
    ("i0", jax.scipy.special.i0),
    ("sinc", jnp.sinc),
    ("nextafter", lambda x: jnp.nextafter(x, x + 1)),
    ("xlogy", lambda x: jax.scipy.special.xlogy(jnp.abs(x), jnp.abs(x) + 1)),
):
    each("f32 f64", name, f, 1 << 12)
for kind in ("u8", "s8", "u16", "s16", "s32", "u32", "s64", "u64"):
    for name, f in (
        ("int_div", lambda x: x // (x | 1)),
        ("int_mod", lambda x: x % (x | 1)),
        ("div_7", lambda x: x // x.dtype.type(7)),
        ("mod_10", lambda x: x % x.dtype.type(10)),
        ("popcount", lax.population_count),
        ("clz", lax.clz),
        ("multiply", lambda x: x * x + x),
        ("shift", lambda x: (x << x.dtype.type(3)) ^ (x >> x.dtype.type(2))),
        ("int_pow", lambda x: lax.integer_pow(x, 5)),
        ("minmax", lambda x: jnp.minimum(jnp.maximum(x, x.dtype.type(3)), x.dtype.type(50))),
    ):
        add(f"{name}_{kind}", f, R(kind, 1 << 16))
for kind in ("c64", "c128"):
    for name, f in (
        ("mul", lambda x: x * x + x),
        ("div", lambda x: x / (x + 2)),
        ("abs", jnp.abs),
        ("exp", jnp.exp),
        ("log", jnp.log),
        ("sqrt", jnp.sqrt),
        ("angle", jnp.angle),
        ("tanh", jnp.tanh),
        ("sin", jnp.sin),
        ("conj_mul", lambda x: x.conj() * x),
        ("real_imag", lambda x: (x.real, x.imag)),
        ("pow", lambda x: x**2.5),
    ):
        add(f"complex_{name}_{kind}", f, R(kind, 1 << 14))
for a, b in (
    ("u8", "f32"),
    ("f32", "u8"),
    ("f32", "bf16"),
    ("bf16", "f32"),
    ("f32", "f16"),
    ("f16", "f32"),
    ("f64", "f32"),
    ("f32", "f64"),
    ("s32", "f32"),
    ("f32", "s32"),
    ("s64", "f64"),
    ("f64", "s64"),
    ("u64", "f32"),
    ("f32", "pred"),
    ("s8", "s32"),
    ("s32", "s8"),
    ("bf16", "f16"),
    ("f16", "bf16"),
    ("s64", "s32"),
    ("u8", "bf16"),
):
    add(f"convert_{a}_{b}", functools.partial(lambda t, x: x.astype(t), TYPES[b]), R(a, 1 << 18))
add("bitcast_f32_u8", lambda x: lax.bitcast_convert_type(x, np.uint8), R("f32", 1 << 16))
add(
    "normalise_u8",
    lambda x: (x.astype(jnp.float32) / 255 - jnp.array([0.48, 0.45, 0.40])) / jnp.array([0.22, 0.22, 0.22]),
    R("u8", 8, 128, 128, 3),
)
add("dequantise", lambda x, s: x.astype(jnp.bfloat16) * s[:, None], R("s8", 1024, 256), R("bf16", 1024))
add(
    "quantise",
    lambda x: jnp.clip(jnp.round(x / (jnp.abs(x).max(-1, keepdims=True) / 127)), -127, 127).astype(jnp.int8),
    R("f32", 512, 256),
)
add("grey", lambda x: (x.astype(jnp.float32) @ jnp.array([0.3, 0.6, 0.1])).astype(jnp.uint8), R("u8", 8, 128, 128, 3))
add(
    "rotary",
    lambda x, c, s: jnp.concatenate([x[..., :32] * c - x[..., 32:] * s, x[..., 32:] * c + x[..., :32] * s], -1),
    R("f32", 4, 128, 8, 64),
    R("f32", 128, 1, 32),
    R("f32", 128, 1, 32),
)
add(
    "rotary_pairs",
    lambda x, c, s: jnp.stack([x[..., ::2] * c - x[..., 1::2] * s, x[..., 1::2] * c + x[..., ::2] * s], -1).reshape(
        x.shape
    ),
    R("f32", 4, 128, 8, 64),
    R("f32", 128, 1, 32),
    R("f32", 128, 1, 32),
)
each("bf16 f16", "softmax_last", lambda x: jax.nn.softmax(x, -1), 1024, 256)
each("f32", "softmax_first", lambda x: jax.nn.softmax(x, 0), 256, 1024)
each(
    "bf16 f16 f32",
    "layer_norm",
    lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5),
    1024,
    256,
)
each("f32", "pairwise_distances", lambda x: jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1e-6), 256, 3)
each("f32", "pairwise_l1", lambda x: jnp.abs(x[:, None] - x[None]).sum(-1), 128, 32)
each(
    "f32",
    "haar",
    lambda x: functools.reduce(
        lambda y, _: jnp.concatenate(
            [(y[..., ::2] + y[..., 1::2]) * 0.7071, (y[..., ::2] - y[..., 1::2]) * 0.7071], -1
        ),
        range(3),
        x,
    ),
    256,
    1024,
)
each(
    "f32",
    "fwht",
    lambda x: functools.reduce(
        lambda y, k: (lambda z: jnp.stack([z[:, :, 0] + z[:, :, 1], z[:, :, 0] - z[:, :, 1]], 2).reshape(y.shape))(
            y.reshape(y.shape[0], -1, 2, 1 << k)
        ),
        range(8),
        x,
    ),
    256,
    256,
)


def encode(x):
    """Sines and cosines of a coordinate at many frequencies, as a NeRF's."""
    angles = (x[..., None] * 2.0 ** jnp.arange(10, dtype=jnp.float32)).reshape(x.shape[0], -1)
    return jnp.concatenate([x, jnp.sin(angles), jnp.cos(angles)], -1)


add("encode_rows_63", encode, R("f32", 2048, 3))
add(
    "rows_23",
    lambda a, b: jnp.concatenate([jnp.tanh(a), jnp.exp(b)], -1),
    R("f32", 1000, 11),
    R("f32", 1000, 12),
)
add(
    "newton_of_normal_cdf",
    lambda p: lax.fori_loop(
        0,
        10,
        lambda i, v: v - (jax.scipy.stats.norm.cdf(v) - p) / (jnp.exp(-v * v / 2) * 0.4 + 1e-6),
        p,
    ),
    np.abs(R("f32", 4096)) * np.float32(0.1) + np.float32(0.5),
)
add(
    "box_u8",
    lambda x: (sum(x[i : i + 252, j : j + 252].astype(jnp.int32) for i in range(5) for j in range(5)) // 25).astype(
        jnp.uint8
    ),
    R("u8", 256, 256),
)
add("power_mod_s64", lambda x: lax.fori_loop(0, 16, lambda i, s: s * x % 1000007, jnp.ones_like(x)), R("s64", 1024))
