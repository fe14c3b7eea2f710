"""Programs of many kinds, types, sizes and axes, for bench_xla.py --programs: name -> (function, example inputs)."""
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

rng = np.random.default_rng(11)
P = {}
FLOATS = ("bf16", "f16", "f32", "f64")
TYPES = {"u8": np.uint8, "s8": np.int8, "s16": np.int16, "u16": np.uint16, "s32": np.int32, "u32": np.uint32,
         "s64": np.int64, "u64": np.uint64, "bf16": jnp.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
         "c64": np.complex64, "c128": np.complex128, "pred": np.bool_}


def R(kind, *shape):
    """An array of the type: small integers, or normal numbers."""
    dtype = np.dtype(TYPES[kind])
    if kind == "pred":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        low = -100 if dtype.kind == "i" else 0
        return rng.integers(low, 100, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if dtype.kind == "c" else x.astype(dtype)


def indices(limit, *shape):
    return rng.integers(0, limit, shape).astype(np.int32)


def add(name, function, *args):
    P[name] = function, args


def each(kinds, name, function, *shape):
    for kind in kinds.split():
        add(f"{name}_{kind}", function, R(kind, *shape))


def spd(*shape, kind="f32"):
    x = R(kind, *shape)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + shape[-1] * np.eye(shape[-1])).astype(x.dtype)


# --- moves
each("u8 bf16 f32 f64", "crop_flip", lambda x: x[:, 16:240, 16:240, :][:, :, ::-1, :], 16, 256, 256, 3)
each("u8 s16 f32 f64", "reverse_last", lambda x: x[:, ::-1], 1024, 1024)
each("u8 f32", "reverse_first", lambda x: x[::-1], 1024, 1024)
each("u8 bf16 f32", "reverse_both", lambda x: x[::-1, ::-1], 1024, 1024)
each("u8 bf16 f32", "flip_middle", lambda x: x[:, ::-1], 64, 128, 7, 16)
each("u8 bf16 f32", "strided_last", lambda x: x[:, ::2], 1024, 2048)
each("u8 f32", "strided_3", lambda x: x[:, 1::3], 1024, 3072)
each("u8 bf16 f32 c64", "pad_edges", lambda x: jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), 16, 112, 112, 8)
each("u8 f32", "pad_interior", lambda x: lax.pad(x, x.dtype.type(0), ((0, 0, 1), (1, 1, 1))), 512, 512)
each("u8 bf16 f32", "pad_reflect", lambda x: jnp.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)), mode="reflect"), 16, 112, 112, 3)
each("u8 bf16 f32", "concat_last", lambda x: jnp.concatenate([x, x[:, :5], x[:, 7:20]], 1), 4096, 64)
each("u8 f32 c64", "stack_last", lambda x: jnp.stack([x, x + x, x], -1), 1024, 512)
each("u8 f32", "interleave", lambda x: jnp.stack([x[::2], x[1::2]], 1).reshape(-1), 1 << 20)
each("u8 bf16 f32 f64 c64", "transpose", lambda x: x.T, 1024, 1024)
each("u8 bf16 f32", "nhwc_nchw", lambda x: x.transpose(0, 3, 1, 2), 16, 128, 128, 3)
each("u8 bf16 f32", "nchw_nhwc", lambda x: x.transpose(0, 2, 3, 1), 16, 3, 128, 128)
each("u8 f32", "space_to_depth", lambda x: x.reshape(8, 64, 2, 64, 2, 8).transpose(0, 1, 3, 2, 4, 5).reshape(8, 64, 64, 32), 8, 128, 128, 8)
each("u8 f32", "depth_to_space", lambda x: x.reshape(8, 64, 64, 2, 2, 8).transpose(0, 1, 3, 2, 4, 5).reshape(8, 128, 128, 8), 8, 64, 64, 32)
each("u8 f32", "patches", lambda x: x.reshape(8, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(8, 196, 768), 8, 224, 224, 3)
each("f32 c64", "bit_reverse", lambda x: x.reshape([2] * 18).transpose(list(range(17, -1, -1))).reshape(-1), 1 << 18)
each("f32 c64", "bit_swap", lambda x: x.reshape([2] * 18).transpose([0, 1, 9, 3, 4, 5, 6, 7, 8, 2] + list(range(10, 18))).reshape(-1), 1 << 18)
each("u8 f32", "diagonal", lambda x: jnp.diagonal(x, axis1=1, axis2=2), 512, 64, 64)
each("u8 f32", "diag_build", lambda x: jax.vmap(jnp.diag)(x), 256, 64)
each("u8 f32", "trace", lambda x: jnp.trace(x, axis1=1, axis2=2), 512, 64, 64)
each("u8 f32", "roll_last", lambda x: jnp.roll(x, 3, -1), 1024, 1024)
each("u8 f32", "tile", lambda x: jnp.tile(x, (4, 3)), 512, 96)
each("u8 bf16 f32", "repeat_last", lambda x: jnp.repeat(x, 2, axis=1), 1024, 512)
each("u8 f32", "tril", lambda x: jnp.tril(x), 1024, 1024)
each("f32", "upsample", lambda x: jax.image.resize(x, (8, 64, 64, 16), "nearest"), 8, 32, 32, 16)
each("f32", "resize_linear", lambda x: jax.image.resize(x, (8, 96, 96, 16), "linear"), 8, 64, 64, 16)

# --- reductions
for axis in (0, 1, 2):
    for op in ("sum", "max", "min", "prod"):
        each("u8 bf16 f32" if op == "max" else "s32 f32", f"{op}_axis{axis}", functools.partial(lambda o, a, x: getattr(jnp, o)(x, a), op, axis), 64, 128, 96)
each("s8 s16 u16 f16 f64", "max_last", lambda x: x.max(-1), 4096, 256)
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
each("f32", "quantile", lambda x: jnp.quantile(x, jnp.array([.1, .9]), axis=-1), 512, 256)

# --- scans, sorts
for axis in (0, 1):
    each("s32 f32 bf16" if axis else "f32 f64", f"cumsum{axis}", functools.partial(lambda a, x: jnp.cumsum(x, a), axis), 512, 1024)
    each("f32", f"cumprod{axis}", functools.partial(lambda a, x: jnp.cumprod(x, a), axis), 512, 1024)
    each("f32 s32", f"cummax{axis}", functools.partial(lambda a, x: lax.cummax(x, a), axis), 512, 1024)
    each("f32", f"cumlogsumexp{axis}", functools.partial(lambda a, x: lax.cumlogsumexp(x, a), axis), 256, 512)
each("f32", "cumsum_short", lambda x: jnp.cumsum(x, -1), 65536, 8)
each("f32", "cumsum_reverse", lambda x: lax.cumsum(x, 1, reverse=True), 512, 1024)
each("f32", "associative_scan", lambda x: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x)), 1024, 256)
each("f32", "associative_scan_last", lambda x: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x), axis=1), 256, 1024)
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
    add(f"segment_sum{width}", lambda x, i: jax.ops.segment_sum(x, i, 2000), R("f32", 65536, width), indices(2000, 65536))
    add(f"segment_max{width}", lambda x, i: jax.ops.segment_max(x, i, 2000), R("f32", 65536, width), indices(2000, 65536))
    add(f"scatter_set{width}", lambda x, i, u: x.at[i].set(u), R("f32", 20000, width), indices(20000, 32768), R("f32", 32768, width))
add("segment_sum_s32", lambda x, i: jax.ops.segment_sum(x, i, 2000), R("s32", 65536), indices(2000, 65536))
add("segment_mean_bf16", lambda x, i: jax.ops.segment_sum(x, i, 2000), R("bf16", 65536, 8), indices(2000, 65536))
add("segment_sum_sorted", lambda x, i: jax.ops.segment_sum(x, i, 2000, indices_are_sorted=True), R("f32", 65536, 16), np.sort(indices(2000, 65536)))
add("take_along_last", lambda x, i: jnp.take_along_axis(x, i, -1), R("f32", 1024, 256), indices(256, 1024, 64))
add("take_along_first", lambda x, i: jnp.take_along_axis(x, i, 0), R("f32", 256, 1024), indices(256, 64, 1024))
add("take_columns", lambda x, i: x[:, i], R("f32", 1024, 256), indices(256, 128))
add("take_columns_u8", lambda x, i: x[:, i], R("u8", 1024, 256), indices(256, 128))
add("gather_2d_points", lambda x, i, j: x[i, j], R("f32", 512, 512), indices(512, 65536), indices(512, 65536))
add("gather_windows", lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (k,), (16,)))(i), R("f32", 65536), indices(65000, 4096))
add("gather_patches", lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (k[0], k[1], 0), (8, 8, 3)))(i), R("f32", 256, 256, 3), indices(240, 512, 2))
add("scatter_2d_points", lambda x, i, j, u: x.at[i, j].add(u), R("f32", 512, 512), indices(512, 65536), indices(512, 65536), R("f32", 65536))
add("scatter_add_u8", lambda x, i, u: x.at[i].add(u), R("u8", 4096), indices(4096, 65536), R("u8", 65536))
add("scatter_min_s32", lambda x, i, u: x.at[i].min(u), R("s32", 4096), indices(4096, 65536), R("s32", 65536))
add("scatter_mul_f64", lambda x, i, u: x.at[i].multiply(u), R("f64", 4096), indices(4096, 16384), R("f64", 16384))
add("one_hot_f32", lambda i: jax.nn.one_hot(i, 128), indices(128, 8192))
add("one_hot_bf16", lambda i: jax.nn.one_hot(i, 100, dtype=jnp.bfloat16), indices(100, 8192))
add("one_hot_dot", lambda i, w: jax.nn.one_hot(i, 256) @ w, indices(256, 2048), R("f32", 256, 64))
add("causal_mask", lambda x: jnp.where(lax.broadcasted_iota(np.int32, (8, 256, 256), 1) >= lax.broadcasted_iota(np.int32, (8, 256, 256), 2), x, -1e9), R("f32", 8, 256, 256))
add("length_mask", lambda n: (jnp.arange(512)[None] < n[:, None]).astype(jnp.float32), indices(512, 512))
add("map_coordinates", lambda x, y: jax.scipy.ndimage.map_coordinates(x, [y * 100 + 250, y * 90 + 250], order=1), R("f32", 512, 512), R("f32", 32768))
add("interp", lambda x: jnp.interp(x, jnp.linspace(-3, 3, 64), jnp.linspace(0, 1, 64) ** 2), R("f32", 16384))

# --- small linear algebra in batches
for n in (2, 3, 4, 6, 8, 16, 32):
    batch = 1 << 18 >> (2 * n.bit_length())
    add(f"cholesky_{n}", lambda x: lax.linalg.cholesky(x, symmetrize_input=False), spd(batch, n, n))
    add(f"lu_{n}", lambda x: lax.linalg.lu(x), R("f32", batch, n, n))
    add(f"qr_{n}", lambda x: jnp.linalg.qr(x), R("f32", batch, n, n))
    add(f"trisolve_{n}", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), spd(batch, n, n), R("f32", batch, n, n))
    add(f"trisolve_vector_{n}", lambda a, b: jax.scipy.linalg.solve_triangular(a, b[..., None], lower=True), spd(batch, n, n), R("f32", batch, n))
    add(f"solve_{n}", lambda a, b: jnp.linalg.solve(a, b[..., None]), spd(batch, n, n), R("f32", batch, n))
    add(f"inv_{n}", jnp.linalg.inv, spd(batch, n, n))
    add(f"det_{n}", jnp.linalg.det, spd(batch, n, n))
    small = max(batch // 8, 16)
    add(f"eigh_{n}", lambda x: jnp.linalg.eigh(x), spd(small, n, n))
    add(f"svd_{n}", lambda x: jnp.linalg.svd(x), R("f32", small, n, n))
    add(f"eigvalsh_{n}", lambda x: jnp.linalg.eigvalsh(x), spd(small, n, n))
    for kind in ("f32", "f64", "c64", "s32", "bf16", "f16", "s8"):
        add(f"matmul_{n}_{kind}", lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), R(kind, batch, n, n), R(kind, batch, n, n))
    add(f"matvec_{n}", lambda a, b: jnp.einsum("bij,bj->bi", a, b), R("f32", batch, n, n), R("f32", batch, n))
add("cholesky_8_f64", lambda x: lax.linalg.cholesky(x, symmetrize_input=False), spd(2048, 8, 8, kind="f64"))
add("cholesky_8_c64", lambda x: lax.linalg.cholesky(x, symmetrize_input=False), spd(2048, 8, 8, kind="c64"))
add("trisolve_right_8", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=False, lower=False), spd(2048, 8, 8), R("f32", 2048, 16, 8))
add("trisolve_transposed_8", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True), spd(2048, 8, 8), R("f32", 2048, 8, 1))
add("expm_4", jax.vmap(jax.scipy.linalg.expm), R("f32", 256, 4, 4) * .1)
add("cross", lambda a, b: jnp.cross(a, b), R("f32", 65536, 3), R("f32", 65536, 3))
add("quaternions", lambda q, v: jnp.einsum("bij,bj->bi", jnp.stack([jnp.stack([1 - 2 * (q[:, 2] ** 2 + q[:, 3] ** 2), 2 * (q[:, 1] * q[:, 2] - q[:, 0] * q[:, 3])], -1), jnp.stack([2 * (q[:, 1] * q[:, 2] + q[:, 0] * q[:, 3]), 1 - 2 * (q[:, 1] ** 2 + q[:, 3] ** 2)], -1)], -2), v), R("f32", 32768, 4), R("f32", 32768, 2))
for name, spec, a, b in (("outer", "bi,bj->bij", (4096, 16), (4096, 12)), ("gate_1", "ij,ajb->aib", (2, 2), (512, 2, 256)),
                         ("gate_2", "ij,abjc->abic", (4, 4), (32, 16, 4, 128)), ("tall", "ik,kj->ij", (65536, 3), (3, 4)),
                         ("thin_k", "ki,kj->ij", (65536, 4), (65536, 4)), ("bilinear", "bi,ijk,bk->bj", None, None)):
    if a:
        each_kind = ("f32", "c64", "bf16") if name != "thin_k" else ("f32", "f64", "c64", "s32", "bf16")
        for kind in each_kind:
            add(f"einsum_{name}_{kind}", functools.partial(lambda s, x, y: jnp.einsum(s, x, y), spec), R(kind, *a), R(kind, *b))
add("matmul_s8_s32", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=np.int32), R("s8", 256, 256), R("s8", 256, 256))
add("matmul_s32_256", lambda a, b: a @ b, R("s32", 256, 256), R("s32", 256, 256))
add("matmul_s64_128", lambda a, b: a @ b, R("s64", 128, 128), R("s64", 128, 128))
add("matmul_u8_256", lambda a, b: a @ b, R("u8", 256, 256), R("u8", 256, 256))
add("matmul_f16_256", lambda a, b: a @ b, R("f16", 256, 256), R("f16", 256, 256))
add("matmul_bf16_256", lambda a, b: a @ b, R("bf16", 256, 256), R("bf16", 256, 256))
add("matmul_c64_256", lambda a, b: a @ b, R("c64", 256, 256), R("c64", 256, 256))
add("matmul_c128_128", lambda a, b: a @ b, R("c128", 128, 128), R("c128", 128, 128))
add("matmul_f64_256", lambda a, b: a @ b, R("f64", 256, 256), R("f64", 256, 256))
add("matmul_pred", lambda a, b: (a.astype(jnp.float32) @ b.astype(jnp.float32)) > 0, R("pred", 256, 256), R("pred", 256, 256))

# --- windows and convolutions
def conv(dims, strides=None, padding="SAME", **options):
    numbers = {1: ("NHC", "HIO", "NHC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NDHWC", "DHWIO", "NDHWC")}[dims]
    return lambda x, w: lax.conv_general_dilated(x, w, strides or (1,) * dims, padding, dimension_numbers=numbers, **options)
for kind in ("f32", "bf16", "f16", "f64", "s8", "s32", "c64"):
    add(f"conv1d_{kind}", conv(1), R(kind, 8, 128, 16), R(kind, 3, 16, 16))
    add(f"conv2d_{kind}", conv(2), R(kind, 2, 28, 28, 16), R(kind, 3, 3, 16, 16))
    add(f"depthwise_{kind}", conv(2, feature_group_count=32), R(kind, 2, 28, 28, 32), R(kind, 3, 3, 1, 32))
for kind in ("f32", "bf16"):
    add(f"conv3d_{kind}", conv(3), R(kind, 1, 12, 12, 12, 8), R(kind, 3, 3, 3, 8, 8))
    add(f"conv_stem_{kind}", conv(2, (2, 2)), R(kind, 2, 64, 64, 3), R(kind, 7, 7, 3, 32))
    add(f"conv_dilated_{kind}", conv(2, rhs_dilation=(2, 2)), R(kind, 2, 32, 32, 16), R(kind, 3, 3, 16, 16))
    add(f"conv_lhs_dilated_{kind}", conv(2, lhs_dilation=(2, 2), padding=((2, 2), (2, 2))), R(kind, 2, 16, 16, 16), R(kind, 4, 4, 16, 16))
    add(f"conv_groups_{kind}", conv(2, feature_group_count=4), R(kind, 2, 28, 28, 32), R(kind, 3, 3, 8, 32))
    add(f"conv_batch_groups_{kind}", conv(2, batch_group_count=4), R(kind, 8, 14, 14, 16), R(kind, 3, 3, 16, 32))
    add(f"depthwise1d_{kind}", conv(1, feature_group_count=64, padding=((3, 0),)), R(kind, 4, 512, 64), R(kind, 4, 1, 64))
    add(f"depthwise3d_{kind}", conv(3, feature_group_count=16), R(kind, 1, 12, 12, 12, 16), R(kind, 3, 3, 3, 1, 16))
    add(f"depthwise_x2_{kind}", conv(2, feature_group_count=16), R(kind, 2, 28, 28, 16), R(kind, 3, 3, 1, 32))
    add(f"conv_one_channel_{kind}", conv(2), R(kind, 8, 64, 64, 1), R(kind, 5, 5, 1, 1))
    add(f"conv_nchw_{kind}", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"), R(kind, 2, 16, 28, 28), R(kind, 16, 16, 3, 3))
    add(f"depthwise_nchw_{kind}", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=32), R(kind, 2, 32, 28, 28), R(kind, 32, 1, 3, 3))
    add(f"conv1d_ncw_{kind}", lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NCH", "OIH", "NCH")), R(kind, 4, 32, 256), R(kind, 32, 32, 5))
    add(f"conv_grad_w_{kind}", lambda x, w: jax.grad(lambda w: (conv(2)(x, w) ** 2).sum().astype(jnp.float32))(w), R(kind, 2, 28, 28, 16), R(kind, 3, 3, 16, 16))
    add(f"depthwise_grad_{kind}", lambda x, w: jax.grad(lambda x, w: (conv(2, feature_group_count=32)(x, w) ** 2).sum().astype(jnp.float32), (0, 1))(x, w), R(kind, 2, 28, 28, 32), R(kind, 3, 3, 1, 32))
add("convolve_1d", lambda a, b: jnp.convolve(a, b), R("f32", 16384), R("f32", 63))
add("correlate_2d", lambda a, b: jax.scipy.signal.convolve2d(a, b, mode="same"), R("f32", 128, 128), R("f32", 7, 7))


def window(op, init, size, strides=None, padding="SAME", **options):
    return lambda x: lax.reduce_window(x, np.asarray(init, x.dtype), op, size, strides or (1,) * len(size), padding, **options)
for kind in ("u8", "s32", "bf16", "f16", "f32", "f64"):
    low = 0 if kind in ("u8", "s32") else -np.inf
    add(f"maxpool_{kind}", window(lax.max, low, (1, 3, 3, 1), (1, 2, 2, 1)), R(kind, 4, 56, 56, 16))
    add(f"maxpool_nchw_{kind}", window(lax.max, low, (1, 1, 2, 2), (1, 1, 2, 2)), R(kind, 4, 16, 64, 64))
    add(f"sumpool_{kind}", window(lax.add, 0, (1, 3, 3, 1)), R(kind, 4, 56, 56, 16))
    add(f"window_max_last_{kind}", window(lax.max, low, (1, 5)), R(kind, 512, 512))
    add(f"window_sum_first_{kind}", window(lax.add, 0, (7, 1)), R(kind, 512, 512))
each("f32", "window_min_2d", window(lax.min, np.inf, (5, 5)), 256, 256)
each("f32", "window_mul", window(lax.mul, 1, (1, 4)), 256, 256)
each("f32", "window_dilated", window(lax.max, -np.inf, (3, 3), window_dilation=(2, 2)), 256, 256)
each("f32", "window_base_dilated", window(lax.add, 0, (3, 3), base_dilation=(2, 2)), 128, 128)
each("f32", "window_long", window(lax.add, 0, (1, 129)), 128, 2048)
each("f32", "window_3d", window(lax.max, -np.inf, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1)), 2, 16, 16, 16, 16)
each("f32 bf16", "maxpool_grad", lambda x: jax.grad(lambda x: (window(lax.max, -np.inf, (1, 3, 3, 1), (1, 2, 2, 1))(x) ** 2).sum().astype(jnp.float32))(x), 4, 56, 56, 16)
each("f32", "maxpool2_grad", lambda x: jax.grad(lambda x: (window(lax.max, -np.inf, (1, 2, 2, 1), (1, 2, 2, 1))(x) ** 2).sum())(x), 4, 56, 56, 16)
each("f32", "maxpool_grad_nchw", lambda x: jax.grad(lambda x: (window(lax.max, -np.inf, (1, 1, 2, 2), (1, 1, 2, 2))(x) ** 2).sum())(x), 4, 16, 56, 56)
each("f32", "avgpool_grad", lambda x: jax.grad(lambda x: (window(lax.add, 0, (1, 3, 3, 1), (1, 2, 2, 1))(x) ** 2).sum())(x), 4, 56, 56, 16)

# --- transforms
for n in (8, 12, 31, 60, 100, 128, 243, 256, 509, 999, 1000, 1021, 1024, 2187, 4096, 4999, 10007, 65536, 100000):
    batch = max(1, 65536 // n)
    add(f"fft_{n}", jnp.fft.fft, R("c64", batch, n))
    add(f"rfft_{n}", jnp.fft.rfft, R("f32", batch, n))
    add(f"irfft_{n}", functools.partial(lambda n, x: jnp.fft.irfft(x, n), n), R("c64", batch, n // 2 + 1))
for n in (64, 999, 1024):
    add(f"fft_{n}_f64", jnp.fft.fft, R("c128", 64, n))
    add(f"irfft_{n}_f64", functools.partial(lambda n, x: jnp.fft.irfft(x, n), n), R("c128", 64, n // 2 + 1))
add("ifft2", jnp.fft.ifft2, R("c64", 16, 64, 64))
add("rfft2", jnp.fft.rfft2, R("f32", 16, 64, 64))
add("irfft2_odd", lambda x: jnp.fft.irfft2(x, s=(63, 63)), R("c64", 16, 63, 32))
add("fftn_3d", jnp.fft.fftn, R("c64", 32, 32, 32))
add("fft_axis0", lambda x: jnp.fft.fft(x, axis=0), R("c64", 256, 256))
add("dct", lambda x: jax.scipy.fft.dct(x), R("f32", 64, 256))
add("stft", lambda x: jax.scipy.signal.stft(x, nperseg=256)[2], R("f32", 4, 16384))
add("fftconvolve", lambda a, b: jax.scipy.signal.fftconvolve(a, b), R("f32", 16384), R("f32", 1000))
add("spectral_step", lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * jnp.exp(-jnp.arange(65.) ** 2 * .001)), R("f32", 128, 128))

# --- random numbers
key = jax.random.key_data(jax.random.key(3))
def random(draw):
    return lambda k: draw(jax.random.wrap_key_data(k))
for name, draw in (("bits", lambda k: jax.random.bits(k, (1 << 18,))), ("uniform", lambda k: jax.random.uniform(k, (1 << 18,))),
                   ("normal", lambda k: jax.random.normal(k, (1 << 18,))), ("normal_bf16", lambda k: jax.random.normal(k, (1 << 18,), jnp.bfloat16)),
                   ("bits8", lambda k: jax.random.bits(k, (1 << 18,), jnp.uint8)), ("randint", lambda k: jax.random.randint(k, (1 << 16,), 0, 1000)),
                   ("bernoulli", lambda k: jax.random.bernoulli(k, .3, (1 << 18,))), ("permutation", lambda k: jax.random.permutation(k, 1 << 14)),
                   ("categorical", lambda k: jax.random.categorical(k, jnp.zeros((256, 128)))), ("gumbel", lambda k: jax.random.gumbel(k, (1 << 16,))),
                   ("exponential", lambda k: jax.random.exponential(k, (1 << 16,))), ("gamma", lambda k: jax.random.gamma(k, 2., (1 << 10,))),
                   ("truncated_normal", lambda k: jax.random.truncated_normal(k, -2., 2., (1 << 16,))), ("split", lambda k: jax.random.key_data(jax.random.split(k, 4096))),
                   ("choice", lambda k: jax.random.choice(k, 1000, (4096,))), ("laplace", lambda k: jax.random.laplace(k, (1 << 16,))),
                   ("cauchy", lambda k: jax.random.cauchy(k, (1 << 16,))), ("poisson", lambda k: jax.random.poisson(k, 3., (1 << 12,))),
                   ("rademacher", lambda k: jax.random.rademacher(k, (1 << 16,))), ("keys_vmap", lambda k: jax.vmap(lambda j: jax.random.normal(j, (4,)))(jax.random.split(k, 4096)))):
    add("random_" + name, random(draw), key)
add("rng_bit_generator", lambda k: lax.rng_bit_generator(k, (1 << 18,))[1], np.arange(4, dtype=np.uint32))

# --- loops
def repeat(n, body):
    return lambda x: lax.fori_loop(0, n, lambda i, s: body(s), x)
each("f32 f64 s32 bf16", "loop_scalar", repeat(20000, lambda x: x * x - x), *())
add("fib_mod", lambda n: lax.fori_loop(0, 20000, lambda i, s: (s[1], (s[0] + s[1]) % n), (jnp.int32(0), jnp.int32(1))), np.int32(10007))
add("collatz", lambda n: lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, jnp.int32(0))), np.int32(837799))
add("gcd", lambda a, b: lax.while_loop(lambda s: jnp.any(s[1] != 0), lambda s: (jnp.where(s[1] != 0, s[1], s[0]), jnp.where(s[1] != 0, s[0] % jnp.where(s[1] == 0, 1, s[1]), 0)), (a, b)), R("s32", 4096) + 200, R("s32", 4096) + 300)
add("mandelbrot", lambda c: lax.fori_loop(0, 50, lambda i, z: jnp.where(jnp.abs(z) < 2, z * z + c, z), c), R("c64", 8192))
each("f32", "loop_tiny_vector", repeat(5000, lambda x: jnp.sin(x) * 1.1), 8)
each("f32", "loop_3x3", repeat(2000, lambda x: x @ x * .1 + .5), 3, 3)
each("f32", "loop_vector_1k", repeat(1000, lambda x: jnp.roll(x, 1) * .5 + x * .5), 1024)
add("scan_lorenz", lambda s: lax.scan(lambda s, _: ((lambda d: (s + .01 * d,) * 2)(jnp.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]))), s, None, length=4000)[1], R("f32", 3))
add("scan_iir", lambda x: lax.scan(lambda c, v: (.9 * c + .1 * v, c), jnp.float32(0), x)[1], R("f32", 16384))
add("scan_iir_batch", lambda x: lax.scan(lambda c, v: (.9 * c + .1 * v, c), jnp.zeros(16), x)[1], R("f32", 2048, 16))
add("scan_kalman", lambda x: lax.scan(lambda c, v: ((c[0] + (c[1] + .1) / (c[1] + 1.1) * (v - c[0]), (c[1] + .1) / (c[1] + 1.1)), c[0]), (jnp.float32(0), jnp.float32(1)), x)[1], R("f32", 8192))
add("scan_viterbi", lambda x, t: lax.scan(lambda c, v: ((c[:, None] + t).max(0) + v, (c[:, None] + t).argmax(0)), x[0], x), R("f32", 512, 16), R("f32", 16, 16))
add("scan_gru", lambda x, w: lax.scan(lambda h, v: (jnp.tanh(h @ w + v), h), jnp.zeros((4, 16)), x)[1], R("f32", 512, 4, 16), R("f32", 16, 16) * .2)
add("scan_grad", lambda x: jax.grad(lambda x: lax.scan(lambda c, v: (jnp.tanh(.9 * c + v), c), jnp.float32(0), x)[1].sum())(x), R("f32", 4096))
add("scan_linear_complex", lambda x, a: lax.scan(lambda c, v: (a * c + v, c), jnp.zeros(32, jnp.complex64), x)[1], R("c64", 1024, 32), R("c64", 32) * .5)
add("newton_batch", lambda x: lax.fori_loop(0, 30, lambda i, y: y - (y * y * y - x) / (3 * y * y + 1e-3), x), np.abs(R("f32", 16384)) + .5)
add("bisect_batch", lambda x: lax.fori_loop(0, 30, lambda i, s: (lambda m: (jnp.where(m * m < x, m, s[0]), jnp.where(m * m < x, s[1], m)))(.5 * (s[0] + s[1])), (x * 0, x + 1))[0], np.abs(R("f32", 16384)))
add("game_of_life", lambda x: lax.fori_loop(0, 20, lambda i, b: (lambda n: ((n == 3) | ((b == 1) & (n == 2))).astype(jnp.uint8))(sum(jnp.roll(jnp.roll(b, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)), x), R("u8", 128, 128) % 2)
add("levenshtein", lambda a, b: lax.scan(lambda row, x: (lambda r: (r, None))(lax.associative_scan(jnp.minimum, jnp.minimum(row + 1, jnp.concatenate([row[:1] + 1, row[:-1] + (b != x)])) - jnp.arange(257)[:len(row)]) + jnp.arange(257)[:len(row)]), jnp.arange(256), a)[0], indices(4, 256), indices(4, 255))
add("sieve", lambda x: lax.fori_loop(2, 64, lambda i, s: s & ((jnp.arange(4096) % i != 0) | (jnp.arange(4096) == i)), x), np.ones(4096, bool))
add("rk4", lambda y: lax.fori_loop(0, 200, lambda i, y: (lambda f: (lambda k1: (lambda k2: (lambda k3: y + .01 / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + .01 * k3)))(f(y + .005 * k2)))(f(y + .005 * k1)))(f(y)))(lambda y: jnp.stack([y[1], -jnp.sin(y[0])])), y), R("f32", 2, 256))
add("cond_loop", lambda x: lax.fori_loop(0, 2000, lambda i, s: lax.cond(i % 3 == 0, lambda s: s + 1, lambda s: s * .5, s), x), R("f32", 32))

# --- elements
for kind in ("f32", "f64", "bf16", "f16"):
    for name, f in (("exp", jnp.exp), ("log", lambda x: jnp.log(jnp.abs(x))), ("tanh", jnp.tanh), ("sin", jnp.sin), ("erf", lax.erf), ("sigmoid", jax.nn.sigmoid),
                    ("gelu", jax.nn.gelu), ("silu", jax.nn.silu), ("softplus", jax.nn.softplus), ("rsqrt", lambda x: lax.rsqrt(jnp.abs(x))), ("cbrt", jnp.cbrt),
                    ("pow", lambda x: jnp.abs(x) ** (x + x)), ("pow_const", lambda x: jnp.abs(x) ** 2.3), ("atan2", lambda x: jnp.arctan2(x, x + 1)), ("fma", lambda x: x * x + x),
                    ("divide", lambda x: x / (x + 3)), ("round", jnp.round), ("floor_mod", lambda x: x % 1.5), ("sign", jnp.sign), ("expm1", jnp.expm1), ("log1p", lambda x: jnp.log1p(jnp.abs(x))), ("tan", jnp.tan), ("asin", lambda x: jnp.arcsin(x * .1)), ("acosh", lambda x: jnp.arccosh(jnp.abs(x) + 1)), ("sinh", jnp.sinh), ("compare", lambda x: (x > 0.5) & (x < 1)), ("clip", lambda x: jnp.clip(x, -1, 1)), ("isfinite", jnp.isfinite)):
        add(f"{name}_{kind}", f, R(kind, 1 << 16))
for name, f in (("lgamma", lax.lgamma), ("digamma", lax.digamma), ("erf_inv", lambda x: lax.erf_inv(x * .2)), ("igamma", lambda x: lax.igamma(jnp.abs(x) + .5, jnp.abs(x) + 1)), ("igammac", lambda x: lax.igammac(jnp.abs(x) + .5, jnp.abs(x) + 1)),
                ("bessel_i0e", lax.bessel_i0e), ("bessel_i1e", lax.bessel_i1e), ("betainc", lambda x: jax.scipy.special.betainc(jnp.abs(x) + .5, 2., jax.nn.sigmoid(x))), ("zeta", lambda x: jax.scipy.special.zeta(jnp.abs(x) + 1.5, 2.)), ("polygamma", lambda x: jax.scipy.special.polygamma(1, jnp.abs(x) + 1)), ("ndtri", lambda x: jax.scipy.special.ndtri(jax.nn.sigmoid(x))), ("erfc", lax.erfc), ("log_ndtr", jax.scipy.special.log_ndtr), ("i0", jax.scipy.special.i0), ("sinc", jnp.sinc), ("nextafter", lambda x: jnp.nextafter(x, x + 1)), ("xlogy", lambda x: jax.scipy.special.xlogy(jnp.abs(x), jnp.abs(x) + 1))):
    each("f32 f64", name, f, 1 << 12)
for kind in ("u8", "s8", "u16", "s16", "s32", "u32", "s64", "u64"):
    for name, f in (("int_div", lambda x: x // (x | 1)), ("int_mod", lambda x: x % (x | 1)), ("div_7", lambda x: x // x.dtype.type(7)), ("mod_10", lambda x: x % x.dtype.type(10)), ("popcount", lax.population_count), ("clz", lax.clz), ("multiply", lambda x: x * x + x), ("shift", lambda x: (x << x.dtype.type(3)) ^ (x >> x.dtype.type(2))), ("int_pow", lambda x: lax.integer_pow(x, 5)), ("minmax", lambda x: jnp.minimum(jnp.maximum(x, x.dtype.type(3)), x.dtype.type(50)))):
        add(f"{name}_{kind}", f, R(kind, 1 << 16))
for kind in ("c64", "c128"):
    for name, f in (("mul", lambda x: x * x + x), ("div", lambda x: x / (x + 2)), ("abs", jnp.abs), ("exp", jnp.exp), ("log", jnp.log), ("sqrt", jnp.sqrt), ("angle", jnp.angle), ("tanh", jnp.tanh), ("sin", jnp.sin), ("conj_mul", lambda x: x.conj() * x), ("real_imag", lambda x: (x.real, x.imag)), ("pow", lambda x: x ** 2.5)):
        add(f"complex_{name}_{kind}", f, R(kind, 1 << 14))
for a, b in (("u8", "f32"), ("f32", "u8"), ("f32", "bf16"), ("bf16", "f32"), ("f32", "f16"), ("f16", "f32"), ("f64", "f32"), ("f32", "f64"), ("s32", "f32"), ("f32", "s32"), ("s64", "f64"), ("f64", "s64"), ("u64", "f32"), ("f32", "pred"), ("s8", "s32"), ("s32", "s8"), ("bf16", "f16"), ("f16", "bf16"), ("s64", "s32"), ("u8", "bf16")):
    add(f"convert_{a}_{b}", functools.partial(lambda t, x: x.astype(t), TYPES[b]), R(a, 1 << 18))
add("bitcast_f32_u8", lambda x: lax.bitcast_convert_type(x, np.uint8), R("f32", 1 << 16))
add("normalise_u8", lambda x: (x.astype(jnp.float32) / 255 - jnp.array([.48, .45, .40])) / jnp.array([.22, .22, .22]), R("u8", 8, 128, 128, 3))
add("dequantise", lambda x, s: x.astype(jnp.bfloat16) * s[:, None], R("s8", 1024, 256), R("bf16", 1024))
add("quantise", lambda x: jnp.clip(jnp.round(x / (jnp.abs(x).max(-1, keepdims=True) / 127)), -127, 127).astype(jnp.int8), R("f32", 512, 256))
add("grey", lambda x: (x.astype(jnp.float32) @ jnp.array([.3, .6, .1])).astype(jnp.uint8), R("u8", 8, 128, 128, 3))
add("rotary", lambda x, c, s: jnp.concatenate([x[..., :32] * c - x[..., 32:] * s, x[..., 32:] * c + x[..., :32] * s], -1), R("f32", 4, 128, 8, 64), R("f32", 128, 1, 32), R("f32", 128, 1, 32))
add("rotary_pairs", lambda x, c, s: jnp.stack([x[..., ::2] * c - x[..., 1::2] * s, x[..., 1::2] * c + x[..., ::2] * s], -1).reshape(x.shape), R("f32", 4, 128, 8, 64), R("f32", 128, 1, 32), R("f32", 128, 1, 32))
each("bf16 f16", "softmax_last", lambda x: jax.nn.softmax(x, -1), 1024, 256)
each("f32", "softmax_first", lambda x: jax.nn.softmax(x, 0), 256, 1024)
each("bf16 f16 f32", "layer_norm", lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), 1024, 256)
each("f32", "pairwise_distances", lambda x: jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1e-6), 256, 3)
each("f32", "pairwise_l1", lambda x: jnp.abs(x[:, None] - x[None]).sum(-1), 128, 32)
each("f32", "haar", lambda x: functools.reduce(lambda y, _: jnp.concatenate([(y[..., ::2] + y[..., 1::2]) * .7071, (y[..., ::2] - y[..., 1::2]) * .7071], -1), range(3), x), 256, 1024)
each("f32", "fwht", lambda x: functools.reduce(lambda y, k: (lambda z: jnp.stack([z[:, :, 0] + z[:, :, 1], z[:, :, 0] - z[:, :, 1]], 2).reshape(y.shape))(y.reshape(y.shape[0], -1, 2, 1 << k)), range(8), x), 256, 256)
