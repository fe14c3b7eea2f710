"""Programs of long_tail.py of linear algebra, convolutions, windows and transforms."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from long_tail_tools import R, add, each, spd

# --- small linear algebra in batches
for n in (2, 3, 4, 6, 8, 16, 32):
    batch = 1 << 18 >> (2 * n.bit_length())
    add(f"cholesky_{n}", lambda x: lax.linalg.cholesky(x, symmetrize_input=False), spd(batch, n, n))
    add(f"lu_{n}", lambda x: lax.linalg.lu(x), R("f32", batch, n, n))
    add(f"qr_{n}", lambda x: jnp.linalg.qr(x), R("f32", batch, n, n))
    add(
        f"trisolve_{n}",
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
        spd(batch, n, n),
        R("f32", batch, n, n),
    )
    add(
        f"trisolve_vector_{n}",
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b[..., None], lower=True),
        spd(batch, n, n),
        R("f32", batch, n),
    )
    add(f"solve_{n}", lambda a, b: jnp.linalg.solve(a, b[..., None]), spd(batch, n, n), R("f32", batch, n))
    add(f"inv_{n}", jnp.linalg.inv, spd(batch, n, n))
    add(f"det_{n}", jnp.linalg.det, spd(batch, n, n))
    small = max(batch // 8, 16)
    add(f"eigh_{n}", lambda x: jnp.linalg.eigh(x), spd(small, n, n))
    add(f"svd_{n}", lambda x: jnp.linalg.svd(x), R("f32", small, n, n))
    add(f"eigvalsh_{n}", lambda x: jnp.linalg.eigvalsh(x), spd(small, n, n))
    for kind in ("f32", "f64", "c64", "s32", "bf16", "f16", "s8"):
        add(
            f"matmul_{n}_{kind}",
            lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))),
            R(kind, batch, n, n),
            R(kind, batch, n, n),
        )
    add(f"matvec_{n}", lambda a, b: jnp.einsum("bij,bj->bi", a, b), R("f32", batch, n, n), R("f32", batch, n))
add("cholesky_8_f64", lambda x: lax.linalg.cholesky(x, symmetrize_input=False), spd(2048, 8, 8, kind="f64"))
add("cholesky_8_c64", lambda x: lax.linalg.cholesky(x, symmetrize_input=False), spd(2048, 8, 8, kind="c64"))
add(
    "trisolve_right_8",
    lambda a, b: lax.linalg.triangular_solve(a, b, left_side=False, lower=False),
    spd(2048, 8, 8),
    R("f32", 2048, 16, 8),
)
add(
    "trisolve_transposed_8",
    lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True),
    spd(2048, 8, 8),
    R("f32", 2048, 8, 1),
)
add(
    "tridiagonal_batch",
    lambda a, b, c, x: lax.linalg.tridiagonal_solve(a, b, c, x[..., None]),
    R("f32", 64, 128),
    4 + R("f32", 64, 128),
    R("f32", 64, 128),
    R("f32", 64, 128),
)
add("expm_4", jax.vmap(jax.scipy.linalg.expm), R("f32", 256, 4, 4) * 0.1)
add(
    "rotate_by_quaternions",
    lambda q, v: v + 2 * jnp.cross(q[:, 1:], jnp.cross(q[:, 1:], v) + q[:, :1] * v),
    R("f32", 16384, 4),
    R("f32", 16384, 3),
)
add("cross", lambda a, b: jnp.cross(a, b), R("f32", 65536, 3), R("f32", 65536, 3))
add(
    "quaternions",
    lambda q, v: jnp.einsum(
        "bij,bj->bi",
        jnp.stack(
            [
                jnp.stack([1 - 2 * (q[:, 2] ** 2 + q[:, 3] ** 2), 2 * (q[:, 1] * q[:, 2] - q[:, 0] * q[:, 3])], -1),
                jnp.stack([2 * (q[:, 1] * q[:, 2] + q[:, 0] * q[:, 3]), 1 - 2 * (q[:, 1] ** 2 + q[:, 3] ** 2)], -1),
            ],
            -2,
        ),
        v,
    ),
    R("f32", 32768, 4),
    R("f32", 32768, 2),
)
for name, spec, a, b in (
    ("outer", "bi,bj->bij", (4096, 16), (4096, 12)),
    ("gate_1", "ij,ajb->aib", (2, 2), (512, 2, 256)),
    ("gate_2", "ij,abjc->abic", (4, 4), (32, 16, 4, 128)),
    ("tall", "ik,kj->ij", (65536, 3), (3, 4)),
    ("thin_k", "ki,kj->ij", (65536, 4), (65536, 4)),
    ("bilinear", "bi,ijk,bk->bj", None, None),
):
    if a:
        each_kind = ("f32", "c64", "bf16") if name != "thin_k" else ("f32", "f64", "c64", "s32", "bf16")
        for kind in each_kind:
            add(
                f"einsum_{name}_{kind}",
                functools.partial(lambda s, x, y: jnp.einsum(s, x, y), spec),
                R(kind, *a),
                R(kind, *b),
            )
add(
    "matmul_s8_s32",
    lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=np.int32),
    R("s8", 256, 256),
    R("s8", 256, 256),
)
add("matmul_s32_256", lambda a, b: a @ b, R("s32", 256, 256), R("s32", 256, 256))
add("matmul_s64_128", lambda a, b: a @ b, R("s64", 128, 128), R("s64", 128, 128))
add("matmul_u8_256", lambda a, b: a @ b, R("u8", 256, 256), R("u8", 256, 256))
add("matmul_f16_256", lambda a, b: a @ b, R("f16", 256, 256), R("f16", 256, 256))
add("matmul_bf16_256", lambda a, b: a @ b, R("bf16", 256, 256), R("bf16", 256, 256))
add("matmul_c64_256", lambda a, b: a @ b, R("c64", 256, 256), R("c64", 256, 256))
add("matmul_c128_128", lambda a, b: a @ b, R("c128", 128, 128), R("c128", 128, 128))
add("matmul_f64_256", lambda a, b: a @ b, R("f64", 256, 256), R("f64", 256, 256))
add(
    "matmul_pred",
    lambda a, b: (a.astype(jnp.float32) @ b.astype(jnp.float32)) > 0,
    R("pred", 256, 256),
    R("pred", 256, 256),
)


# --- windows and convolutions
def conv(dims, strides=None, padding="SAME", **options):
    numbers = {1: ("NHC", "HIO", "NHC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NDHWC", "DHWIO", "NDHWC")}[dims]
    return lambda x, w: lax.conv_general_dilated(
        x, w, strides or (1,) * dims, padding, dimension_numbers=numbers, **options
    )


for kind in ("f32", "bf16", "f16", "f64", "s8", "s32", "c64"):
    add(f"conv1d_{kind}", conv(1), R(kind, 8, 128, 16), R(kind, 3, 16, 16))
    add(f"conv2d_{kind}", conv(2), R(kind, 2, 28, 28, 16), R(kind, 3, 3, 16, 16))
    add(f"depthwise_{kind}", conv(2, feature_group_count=32), R(kind, 2, 28, 28, 32), R(kind, 3, 3, 1, 32))
for kind in ("f32", "bf16"):
    add(f"conv3d_{kind}", conv(3), R(kind, 1, 12, 12, 12, 8), R(kind, 3, 3, 3, 8, 8))
    add(f"conv_stem_{kind}", conv(2, (2, 2)), R(kind, 2, 64, 64, 3), R(kind, 7, 7, 3, 32))
    add(f"conv_dilated_{kind}", conv(2, rhs_dilation=(2, 2)), R(kind, 2, 32, 32, 16), R(kind, 3, 3, 16, 16))
    add(
        f"conv_lhs_dilated_{kind}",
        conv(2, lhs_dilation=(2, 2), padding=((2, 2), (2, 2))),
        R(kind, 2, 16, 16, 16),
        R(kind, 4, 4, 16, 16),
    )
    add(f"conv_groups_{kind}", conv(2, feature_group_count=4), R(kind, 2, 28, 28, 32), R(kind, 3, 3, 8, 32))
    add(f"conv_batch_groups_{kind}", conv(2, batch_group_count=4), R(kind, 8, 14, 14, 16), R(kind, 3, 3, 16, 32))
    add(
        f"depthwise1d_{kind}",
        conv(1, feature_group_count=64, padding=((3, 0),)),
        R(kind, 4, 512, 64),
        R(kind, 4, 1, 64),
    )
    add(f"depthwise3d_{kind}", conv(3, feature_group_count=16), R(kind, 1, 12, 12, 12, 16), R(kind, 3, 3, 3, 1, 16))
    add(f"depthwise_x2_{kind}", conv(2, feature_group_count=16), R(kind, 2, 28, 28, 16), R(kind, 3, 3, 1, 32))
    add(f"conv_one_channel_{kind}", conv(2), R(kind, 8, 64, 64, 1), R(kind, 5, 5, 1, 1))
    add(
        f"conv_nchw_{kind}",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"),
        R(kind, 2, 16, 28, 28),
        R(kind, 16, 16, 3, 3),
    )
    add(
        f"depthwise_nchw_{kind}",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=32),
        R(kind, 2, 32, 28, 28),
        R(kind, 32, 1, 3, 3),
    )
    add(
        f"conv1d_ncw_{kind}",
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NCH", "OIH", "NCH")),
        R(kind, 4, 32, 256),
        R(kind, 32, 32, 5),
    )
    add(
        f"conv_grad_w_{kind}",
        lambda x, w: jax.grad(lambda w: (conv(2)(x, w) ** 2).sum().astype(jnp.float32))(w),
        R(kind, 2, 28, 28, 16),
        R(kind, 3, 3, 16, 16),
    )
    add(
        f"depthwise_grad_{kind}",
        lambda x, w: jax.grad(
            lambda x, w: (conv(2, feature_group_count=32)(x, w) ** 2).sum().astype(jnp.float32), (0, 1)
        )(x, w),
        R(kind, 2, 28, 28, 32),
        R(kind, 3, 3, 1, 32),
    )
add("convolve_1d", lambda a, b: jnp.convolve(a, b), R("f32", 16384), R("f32", 63))
add("correlate_2d", lambda a, b: jax.scipy.signal.convolve2d(a, b, mode="same"), R("f32", 128, 128), R("f32", 7, 7))


def window(op, init, size, strides=None, padding="SAME", **options):
    return lambda x: lax.reduce_window(
        x, np.asarray(init, x.dtype), op, size, strides or (1,) * len(size), padding, **options
    )


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
each(
    "f32 f16",
    "window_sums_rgb",
    lambda x: lax.reduce_window(x, x.dtype.type(0), lax.add, (1, 7, 7, 1), (1, 1, 1, 1), "VALID"),
    4,
    64,
    64,
    3,
)
each("f32", "window_3d", window(lax.max, -np.inf, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1)), 2, 16, 16, 16, 16)
each(
    "f32 bf16",
    "maxpool_grad",
    lambda x: jax.grad(
        lambda x: (window(lax.max, -np.inf, (1, 3, 3, 1), (1, 2, 2, 1))(x) ** 2).sum().astype(jnp.float32)
    )(x),
    4,
    56,
    56,
    16,
)
each(
    "f32",
    "maxpool2_grad",
    lambda x: jax.grad(lambda x: (window(lax.max, -np.inf, (1, 2, 2, 1), (1, 2, 2, 1))(x) ** 2).sum())(x),
    4,
    56,
    56,
    16,
)
each(
    "f32",
    "maxpool_grad_nchw",
    lambda x: jax.grad(lambda x: (window(lax.max, -np.inf, (1, 1, 2, 2), (1, 1, 2, 2))(x) ** 2).sum())(x),
    4,
    16,
    56,
    56,
)
each(
    "f32",
    "avgpool_grad",
    lambda x: jax.grad(lambda x: (window(lax.add, 0, (1, 3, 3, 1), (1, 2, 2, 1))(x) ** 2).sum())(x),
    4,
    56,
    56,
    16,
)


# --- circuits of qubits
def circuit_energy(angles):
    """The energy of a chain of 8 spins after layers of rotations and controlled signs."""
    count, places = 8, jnp.arange(256)
    spins = [1 - 2 * ((places >> (count - 1 - q)) & 1) for q in range(count)]
    state = jnp.zeros(256, jnp.complex64).at[0].set(1)
    for layer in angles:
        for q in range(count):
            c, s = jnp.cos(layer[q, 0] / 2), jnp.sin(layer[q, 0] / 2)
            turn = jnp.array([[c, -s], [s, c]]) * jnp.exp(0.5j * jnp.array([-1, 1]) * layer[q, 1])[:, None]
            state = jnp.einsum("ab,ibj->iaj", turn.astype(jnp.complex64), state.reshape(2**q, 2, -1)).reshape(-1)
        for q in range(count - 1):
            state = jnp.where((spins[q] < 0) & (spins[q + 1] < 0), -state, state)
    return sum((jnp.abs(state) ** 2 * spins[q] * spins[q + 1]).sum() for q in range(count - 1)).astype(jnp.float32)


add("circuit_energy", circuit_energy, R("f32", 3, 8, 2))
add("circuit_grad", jax.grad(circuit_energy), R("f32", 3, 8, 2))

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
add(
    "spectral_step",
    lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * jnp.exp(-jnp.arange(65.0) ** 2 * 0.001)),
    R("f32", 128, 128),
)
