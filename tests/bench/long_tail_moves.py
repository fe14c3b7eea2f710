"""Programs of long_tail.py that move, reduce, scan, sort and look up."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from long_tail_tools import R, add, each, indices

# --- moves
each("u8 bf16 f32 f64", "crop_flip", lambda x: x[:, 16:240, 16:240, :][:, :, ::-1, :], 16, 256, 256, 3)
each("u8 bf16 f32", "flip_images", lambda x: x[:, :, ::-1], 128, 32, 32, 3)


def crop_and_flip(images, flipped, corners):
    """Windows of padded images, some turned, as training on small images has them."""
    images = jnp.pad(jnp.where(flipped[:, None, None, None], images[:, :, ::-1], images), ((0, 0), (4, 4), (4, 4), (0, 0)))
    return jax.vmap(lambda x, at: lax.dynamic_slice(x, (at[0], at[1], jnp.int32(0)), (32, 32, 3)))(images, corners)


for kind in ("u8", "bf16", "f32"):
    add(f"augment_{kind}", crop_and_flip, R(kind, 128, 32, 32, 3), R("pred", 128), indices(9, 128, 2))
each(
    "u8 f32",
    "mask_images",
    lambda x: jnp.where(
        (jnp.arange(64)[:, None, None] + jnp.arange(32)[None, :, None]) % 32 > jnp.arange(32)[None, None], x.transpose(3, 0, 1, 2), 0
    ).transpose(1, 2, 3, 0),
    64,
    32,
    32,
    3,
)
add(
    "shift_scan",
    lambda x, shifts: lax.scan(lambda c, at: (0.5 * (c + jnp.roll(c, (at[0], at[1]), (0, 1))), None), x, shifts)[0],
    R("f32", 128, 128),
    indices(20, 30, 2),
)
each("u8 s16 f32 f64", "reverse_last", lambda x: x[:, ::-1], 1024, 1024)
each("u8 f32", "reverse_first", lambda x: x[::-1], 1024, 1024)
each("u8 bf16 f32", "reverse_both", lambda x: x[::-1, ::-1], 1024, 1024)
each("u8 bf16 f32", "flip_middle", lambda x: x[:, ::-1], 64, 128, 7, 16)
each("u8 bf16 f32", "strided_last", lambda x: x[:, ::2], 1024, 2048)
each("u8 f32", "strided_3", lambda x: x[:, 1::3], 1024, 3072)
each("u8 bf16 f32 c64", "pad_edges", lambda x: jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), 16, 112, 112, 8)
each("u8 f32", "pad_interior", lambda x: lax.pad(x, x.dtype.type(0), ((0, 0, 1), (1, 1, 1))), 512, 512)
each(
    "u8 bf16 f32",
    "pad_reflect",
    lambda x: jnp.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)), mode="reflect"),
    16,
    112,
    112,
    3,
)
each("u8 bf16 f32", "concat_last", lambda x: jnp.concatenate([x, x[:, :5], x[:, 7:20]], 1), 4096, 64)
each("u8 f32 c64", "stack_last", lambda x: jnp.stack([x, x + x, x], -1), 1024, 512)
each("u8 f32", "interleave", lambda x: jnp.stack([x[::2], x[1::2]], 1).reshape(-1), 1 << 20)
each("u8 bf16 f32 f64 c64", "transpose", lambda x: x.T, 1024, 1024)
each("u8 bf16 f32", "nhwc_nchw", lambda x: x.transpose(0, 3, 1, 2), 16, 128, 128, 3)
each("u8 bf16 f32", "nchw_nhwc", lambda x: x.transpose(0, 2, 3, 1), 16, 3, 128, 128)
each(
    "u8 f32",
    "space_to_depth",
    lambda x: x.reshape(8, 64, 2, 64, 2, 8).transpose(0, 1, 3, 2, 4, 5).reshape(8, 64, 64, 32),
    8,
    128,
    128,
    8,
)
each(
    "u8 f32",
    "depth_to_space",
    lambda x: x.reshape(8, 64, 64, 2, 2, 8).transpose(0, 1, 3, 2, 4, 5).reshape(8, 128, 128, 8),
    8,
    64,
    64,
    32,
)
each(
    "u8 f32",
    "patches",
    lambda x: x.reshape(8, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(8, 196, 768),
    8,
    224,
    224,
    3,
)
each("f32 c64", "bit_reverse", lambda x: x.reshape([2] * 18).transpose(list(range(17, -1, -1))).reshape(-1), 1 << 18)
each(
    "f32 c64",
    "bit_swap",
    lambda x: x.reshape([2] * 18).transpose([0, 1, 9, 3, 4, 5, 6, 7, 8, 2] + list(range(10, 18))).reshape(-1),
    1 << 18,
)
each("u8 f32", "diagonal", lambda x: jnp.diagonal(x, axis1=1, axis2=2), 512, 64, 64)
each("u8 f32", "diag_build", lambda x: jax.vmap(jnp.diag)(x), 256, 64)
each("u8 f32", "trace", lambda x: jnp.trace(x, axis1=1, axis2=2), 512, 64, 64)
each("u8 f32", "roll_last", lambda x: jnp.roll(x, 3, -1), 1024, 1024)
each("u8 f32", "tile", lambda x: jnp.tile(x, (4, 3)), 512, 96)
each("u8 bf16 f32", "repeat_last", lambda x: jnp.repeat(x, 2, axis=1), 1024, 512)
each("u8 f32", "tril", lambda x: jnp.tril(x), 1024, 1024)
each("u8 bf16 f32", "upsample", lambda x: jax.image.resize(x, (8, 64, 64, 16), "nearest"), 8, 32, 32, 16)
each(
    "f32",
    "upsample_grad",
    jax.grad(lambda x: (jax.image.resize(x, (8, 64, 64, 16), "nearest") ** 2).sum()),
    8,
    32,
    32,
    16,
)
each("f32", "resize_linear", lambda x: jax.image.resize(x, (8, 96, 96, 16), "linear"), 8, 64, 64, 16)

# --- reductions
for axis in (0, 1, 2):
    for op in ("sum", "max", "min", "prod"):
        each(
            "u8 bf16 f32" if op == "max" else "s32 f32",
            f"{op}_axis{axis}",
            functools.partial(lambda o, a, x: getattr(jnp, o)(x, a), op, axis),
            64,
            128,
            96,
        )
each("s8 s16 u16 bf16 f16 f64", "max_last", lambda x: x.max(-1), 4096, 256)
each("u8 s8 bf16 f16 f64 c64", "sum_last", lambda x: x.sum(-1), 4096, 256)
each("u8 bf16 f32", "max_short", lambda x: x.max(-1), 65536, 8)
each("u8 bf16 f32 f64", "sum_3", lambda x: x.sum(-1), 131072, 3)
each("u8 bf16 f32 f64", "argmax_last", lambda x: jnp.argmax(x, -1), 2048, 256)
each("u8 bf16 f32", "argmax_short", lambda x: jnp.argmax(x, -1), 65536, 10)
each("bf16 f32", "argmin_first", lambda x: jnp.argmin(x, 0), 256, 2048)
each("pred", "any_last", lambda x: x.any(-1), 4096, 256)
each("pred", "all_first", lambda x: x.all(0), 256, 4096)
each("pred", "count", lambda x: x.sum(), 1 << 20)
each("s32", "and_last", lambda x: lax.reduce(x, np.int32(-1), lax.bitwise_and, (1,)), 2048, 256)
each("f32 bf16 f16 f64", "logsumexp", lambda x: jax.nn.logsumexp(x, -1), 2048, 256)
each("f32 bf16", "var_last", lambda x: x.var(-1), 2048, 256)
each("f32", "norm_axis0", lambda x: jnp.linalg.norm(x, axis=0), 2048, 256)
each("c64", "sum_abs2", lambda x: (x * x.conj()).real.sum(-1), 1024, 256)
each("f32", "median", lambda x: jnp.median(x, -1), 512, 255)
each("f32", "quantile", lambda x: jnp.quantile(x, jnp.array([0.1, 0.9]), axis=-1), 512, 256)

# --- scans, sorts
for axis in (0, 1):
    each(
        "s32 f32 bf16" if axis else "f32 f64",
        f"cumsum{axis}",
        functools.partial(lambda a, x: jnp.cumsum(x, a), axis),
        512,
        1024,
    )
    each("f32", f"cumprod{axis}", functools.partial(lambda a, x: jnp.cumprod(x, a), axis), 512, 1024)
    each("f32 s32", f"cummax{axis}", functools.partial(lambda a, x: lax.cummax(x, a), axis), 512, 1024)
    each("f32", f"cumlogsumexp{axis}", functools.partial(lambda a, x: lax.cumlogsumexp(x, a), axis), 256, 512)
each("f32", "cumsum_short", lambda x: jnp.cumsum(x, -1), 65536, 8)
each("f32", "cumsum_reverse", lambda x: lax.cumsum(x, 1, reverse=True), 512, 1024)
each(
    "f32",
    "associative_scan",
    lambda x: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x)),
    1024,
    256,
)
each(
    "f32",
    "associative_scan_last",
    lambda x: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x), axis=1),
    256,
    1024,
)
add(
    "linear_recurrence_grad",
    jax.grad(
        lambda a, x: (
            lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, x), axis=1)[1] ** 2
        ).sum()
    ),
    R("f32", 8, 512, 16),
    R("f32", 8, 512, 16),
)
each("f32", "associative_matrices", lambda x: lax.associative_scan(jnp.matmul, x), 512, 4, 4)
each("u8 s32 bf16 f32 f64", "sort_last", lambda x: jnp.sort(x, -1), 512, 256)
each("f32", "sort_first", lambda x: jnp.sort(x, 0), 256, 512)
each("f32", "sort_short", lambda x: jnp.sort(x, -1), 16384, 16)
each("f32 s32 u8", "argsort", lambda x: jnp.argsort(x, -1), 512, 256)
each("f32", "sort_pairs", lambda x: lax.sort((x, x + 1), num_keys=1), 512, 256)
each("f32 s32", "sort_1d", lambda x: jnp.sort(x), 1 << 18)
each("f32 bf16", "top_k", lambda x: lax.top_k(x, 8), 512, 1024)
each("f32", "top_k_large", lambda x: lax.top_k(x, 128), 64, 4096)
each("f32", "top_1", lambda x: lax.top_k(x, 1), 2048, 64)
each("s32", "unique", lambda x: jnp.unique(x, size=128), 1 << 14)
each("s32", "searchsorted", lambda x: jnp.searchsorted(jnp.arange(1000, dtype=jnp.int32), x), 1 << 14)
each("s32", "bincount", lambda x: jnp.bincount(jnp.abs(x), length=128), 1 << 16)
each("f32", "histogram", lambda x: jnp.histogram(x, bins=32, range=(-3, 3))[0], 1 << 15)

# --- gathers, scatters
for kind, width in itertools.product(("f32", "bf16", "u8"), (1, 2, 3, 4, 8, 32)):
    add(f"gather_rows{width}_{kind}", lambda x, i: x[i], R(kind, 20000, width), indices(20000, 65536))
for width in (1, 2, 4, 8, 16, 64):
    add(
        f"segment_sum{width}",
        lambda x, i: jax.ops.segment_sum(x, i, 2000),
        R("f32", 65536, width),
        indices(2000, 65536),
    )
    add(
        f"segment_max{width}",
        lambda x, i: jax.ops.segment_max(x, i, 2000),
        R("f32", 65536, width),
        indices(2000, 65536),
    )
    add(
        f"scatter_set{width}",
        lambda x, i, u: x.at[i].set(u),
        R("f32", 20000, width),
        indices(20000, 32768),
        R("f32", 32768, width),
    )
add("segment_sum_s32", lambda x, i: jax.ops.segment_sum(x, i, 2000), R("s32", 65536), indices(2000, 65536))
add("segment_mean_bf16", lambda x, i: jax.ops.segment_sum(x, i, 2000), R("bf16", 65536, 8), indices(2000, 65536))
add(
    "segment_sum_sorted",
    lambda x, i: jax.ops.segment_sum(x, i, 2000, indices_are_sorted=True),
    R("f32", 65536, 16),
    np.sort(indices(2000, 65536)),
)
add("take_along_last", lambda x, i: jnp.take_along_axis(x, i, -1), R("f32", 1024, 256), indices(256, 1024, 64))
add("take_along_first", lambda x, i: jnp.take_along_axis(x, i, 0), R("f32", 256, 1024), indices(256, 64, 1024))
add("take_columns", lambda x, i: x[:, i], R("f32", 1024, 256), indices(256, 128))
add("take_columns_u8", lambda x, i: x[:, i], R("u8", 1024, 256), indices(256, 128))
add("gather_2d_points", lambda x, i, j: x[i, j], R("f32", 512, 512), indices(512, 65536), indices(512, 65536))
add(
    "gather_windows",
    lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (k,), (16,)))(i),
    R("f32", 65536),
    indices(65000, 4096),
)
add(
    "gather_patches",
    lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (k[0], k[1], jnp.int32(0)), (8, 8, 3)))(i),
    R("f32", 256, 256, 3),
    indices(240, 512, 2),
)
add(
    "scatter_2d_points",
    lambda x, i, j, u: x.at[i, j].add(u),
    R("f32", 512, 512),
    indices(512, 65536),
    indices(512, 65536),
    R("f32", 65536),
)
add("scatter_add_u8", lambda x, i, u: x.at[i].add(u), R("u8", 4096), indices(4096, 65536), R("u8", 65536))
add("scatter_min_s32", lambda x, i, u: x.at[i].min(u), R("s32", 4096), indices(4096, 65536), R("s32", 65536))
add("scatter_mul_f64", lambda x, i, u: x.at[i].multiply(u), R("f64", 4096), indices(4096, 16384), R("f64", 16384))
add(
    "select_of_six",
    lambda i, x: jnp.select([i == k for k in range(6)], [x * k for k in range(6)]),
    indices(6, 65536),
    R("f32", 65536),
)
each("f32", "cumprod_grad", jax.grad(lambda x: (jnp.cumprod(x, -1) * x).sum()), 1024, 64)
add("one_hot_f32", lambda i: jax.nn.one_hot(i, 128), indices(128, 8192))
add("one_hot_bf16", lambda i: jax.nn.one_hot(i, 100, dtype=jnp.bfloat16), indices(100, 8192))
add("one_hot_dot", lambda i, w: jax.nn.one_hot(i, 256) @ w, indices(256, 2048), R("f32", 256, 64))
add(
    "causal_mask",
    lambda x: jnp.where(
        lax.broadcasted_iota(np.int32, (8, 256, 256), 1) >= lax.broadcasted_iota(np.int32, (8, 256, 256), 2), x, -1e9
    ),
    R("f32", 8, 256, 256),
)
add("length_mask", lambda n: (jnp.arange(512)[None] < n[:, None]).astype(jnp.float32), indices(512, 512))
add(
    "map_coordinates",
    lambda x, y: jax.scipy.ndimage.map_coordinates(x, [y * 100 + 250, y * 90 + 250], order=1),
    R("f32", 512, 512),
    R("f32", 32768),
)
add("interp", lambda x: jnp.interp(x, jnp.linspace(-3, 3, 64), jnp.linspace(0, 1, 64) ** 2), R("f32", 16384))
add("argb_shuffle", lambda x: x[..., jnp.array([3, 0, 1, 2])], R("u8", 256, 256, 4))
