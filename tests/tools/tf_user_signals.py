"""More graphs for check_tf_models.py, registered in tf_graphs.GRAPHS: tf.signal, tf.linalg, augmentation of images,
gradients by hand, frozen networks."""
import numpy as np
import tensorflow as tf

from tf_graphs import f32, graph, legacy, pull_back, s32

tf1 = tf.compat.v1


# --- signals ---
@graph(f32(2, 64))
def overlap_and_add(x):
    frames = tf.signal.frame(x, 16, 8)
    window = tf.signal.hann_window(16)
    spectrum = tf.signal.stft(x, 16, 8, 16)
    back = tf.signal.inverse_stft(spectrum, 16, 8, 16, tf.signal.inverse_stft_window_fn(8))
    return [
        tf.signal.overlap_and_add(frames * window, 8),
        tf.abs(spectrum),
        back,
        tf.signal.vorbis_window(16),
        tf.signal.kaiser_window(16, 9.0),
    ]


@graph(f32(3, 32))
def transforms_of_all_types(x):
    s = tf.signal
    return [
        s.dct(x, 2),
        s.dct(x, 3, norm="ortho"),
        s.dct(x, 4),
        s.idct(x, 2),
        s.mdct(x, 16),
        s.inverse_mdct(s.mdct(x, 16)),
        tf.abs(s.fftshift(s.fft(tf.cast(x, tf.complex64)))),
        s.irfft(s.rfft(x, [40]), [40]),
        tf.math.real(s.ifft2d(tf.cast(x[None], tf.complex64))),
    ]


@graph(f32(2, 128))
def cepstral_coefficients(x):
    spectrum = tf.abs(tf.signal.stft(x, 32, 16, 32))
    mel = tf.tensordot(spectrum, tf.signal.linear_to_mel_weight_matrix(8, 17, 8000.0, 80.0, 3800.0), 1)
    y = tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(mel + 1e-6))[..., :6]
    return [y] + pull_back(y, [x])


@graph(f32(1, 24, 2), f32(5, 2, 2), f32(24))
def filters_of_signals(x, kernel, h):
    y = tf.nn.conv1d(tf.pad(x, [[0, 0], [4, 0], [0, 0]]), kernel, 1, "VALID", dilations=1)
    long = tf.signal.irfft(tf.signal.rfft(x[0, :, 0], [48]) * tf.signal.rfft(h, [48]), [48])
    up = tf.nn.conv1d_transpose(x, kernel, [1, 48, 2], 2)
    return [y, long, up, tf.nn.pool(x, [3], "AVG", [2], "SAME")] + pull_back(up, [x, kernel])


# --- linear algebra ---
@graph(f32(2, 4, 4), f32(2, 4, 3))
def factorisations(a, b):
    l = tf.linalg
    spd = a @ tf.transpose(a, [0, 2, 1]) + tf.eye(4)
    q, r = l.qr(a)
    s, u, v = l.svd(b)
    e, w = l.eigh(spd)
    return [
        q @ r,
        s,
        u @ l.diag(s) @ tf.transpose(v, [0, 2, 1]),
        e,
        tf.abs(w @ tf.transpose(w, [0, 2, 1])),
        l.cholesky_solve(l.cholesky(spd), b),
        l.logdet(spd),
        l.slogdet(a)[1],
        l.expm(a * 0.3),
        l.pinv(b),
        l.lstsq(spd, b),
        l.inv(spd),
        l.trace(spd),
    ]


@graph(f32(5, 5), f32(5, 2), f32(3, 5))
def structured_systems(a, b, diagonals):
    l = tf.linalg
    low = l.band_part(a, -1, 0) + 3 * tf.eye(5)
    x = l.triangular_solve(low, b)
    t = l.tridiagonal_solve(diagonals + tf.constant([[0.0], [4.0], [0.0]]), b, diagonals_format="compact")
    op = l.LinearOperatorLowRankUpdate(l.LinearOperatorDiag(tf.ones([5]) * 2), b)
    block = l.LinearOperatorBlockDiag([l.LinearOperatorFullMatrix(low), l.LinearOperatorIdentity(2)])
    kron = l.LinearOperatorKronecker([l.LinearOperatorFullMatrix(a[:2, :2]), l.LinearOperatorDiag([1.0, 2.0])])
    return [
        x,
        t,
        op.solve(b),
        op.log_abs_determinant(),
        block.to_dense(),
        kron.to_dense(),
        l.LinearOperatorCirculant(tf.cast([3.0, 1.0, 0.5, 1.0], tf.complex64)).to_dense(),
    ] + pull_back(x, [a, b])


@graph(f32(4, 4), f32(4, 4))
def gradients_of_factors(a, b):
    spd = a @ tf.transpose(a) + tf.eye(4)
    y = tf.linalg.cholesky(spd)
    d = tf.linalg.logdet(spd)
    e, v = tf.linalg.eigh(spd)
    s = tf.linalg.svd(b, compute_uv=False)
    return (
        pull_back(y, [a])
        + pull_back(d, [a])
        + pull_back(e, [a])
        + pull_back(tf.linalg.inv(b + 3 * tf.eye(4)), [b])
        + pull_back(s, [b])
        + pull_back(tf.linalg.det(b), [b])
    )


@graph(f32(3, 4, 5), f32(5, 4, 2))
def contractions(x, y):
    e = tf.einsum
    return [
        e("ijk,kjl->il", x, y),
        e("ijk->kj", x),
        e("...k,kl->...l", x, y[:, 0]),
        tf.tensordot(x, y, [[2, 1], [0, 1]]),
        e("iij->j", x[:, :3]),
        tf.linalg.matmul(x, y[:, :, 0], transpose_b=False),
        tf.norm(x, 1, 2),
        tf.norm(x[0], "fro", [0, 1]),
        e("bij,bij->b", x, x),
    ] + pull_back(e("ijk,kjl->il", x, y), [x, y])


@graph(f32(30, 4), f32(3, 4))
def mixture_by_expectation(x, means):
    for _ in range(3):
        d = tf.reduce_sum(tf.square(x[:, None] - means[None]), 2)
        r = tf.nn.softmax(-d * 2.0, 1)
        means = tf.matmul(r, x, transpose_a=True) / (tf.reduce_sum(r, 0)[:, None] + 1e-6)
    return [means, tf.reduce_logsumexp(-d, 1)]


# --- images ---
@graph(f32(2, 12, 12, 3, low=0, high=1))
def resizing(x):
    i = tf.image
    return [
        i.resize(x, [7, 9]),
        i.resize(x, [24, 18], "nearest"),
        i.resize(x, [7, 9], "bicubic"),
        i.resize(x, [6, 6], "area"),
        i.resize_with_pad(x, 10, 16),
        i.resize_with_crop_or_pad(x, 10, 16),
        i.central_crop(x, 0.5),
        i.pad_to_bounding_box(x, 1, 2, 16, 16),
        i.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
        i.rot90(x),
        i.transpose(x),
        tf.nn.space_to_depth(x, 2),
    ]


@graph(f32(2, 8, 8, 3, low=0, high=1))
def colours_and_edges(x):
    i = tf.image
    return [
        i.rgb_to_yuv(x),
        i.rgb_to_grayscale(x),
        i.adjust_gamma(x, 0.8),
        i.adjust_hue(x, 0.1),
        i.adjust_saturation(x, 1.4),
        i.adjust_contrast(x, 0.7),
        i.per_image_standardization(x),
        i.sobel_edges(x),
        i.total_variation(x),
        i.psnr(x, x * 0.9, 1.0),
        tf.cast(i.convert_image_dtype(x, tf.uint8), tf.int32),
        i.ssim(x, x * 0.8, 1.0, filter_size=5),
    ]


@graph(f32(2, 10, 10, 3, low=0, high=1), np.array([4, 7], np.int32))
def augmentation(x, seed):
    """What layers of augmentation do, with stateless numbers."""
    angle = tf.random.stateless_uniform([2], seed, -0.3, 0.3)
    c, s, zero = tf.cos(angle), tf.sin(angle), tf.zeros([2])
    transforms = tf.stack([c, -s, zero, s, c, zero, zero, zero], 1)
    turned = tf.raw_ops.ImageProjectiveTransformV3(
        images=x, transforms=transforms, output_shape=[10, 10], interpolation="BILINEAR", fill_mode="REFLECT",
        fill_value=0.0
    )
    at = tf.random.stateless_uniform([2], seed + 1, 0, 6, tf.int32)
    rows, columns = tf.range(10)[None, :, None], tf.range(10)[None, None]
    hole = (rows >= at[0]) & (rows < at[0] + 4) & (columns >= at[1]) & (columns < at[1] + 4)
    cut = tf.where(hole[..., None], 0.5, turned)
    mix = tf.random.stateless_uniform([2, 1, 1, 1], seed + 2)
    noise = tf.random.stateless_normal([2, 10, 10, 3], seed, stddev=0.1)
    return [
        tf.clip_by_value(cut * mix + tf.reverse(cut, [0]) * (1 - mix) + noise, 0.0, 1.0),
        tf.image.stateless_random_flip_up_down(x, seed),
    ]


@graph(f32(1, 8, 8, 6), f32(1, 8, 8, 36))
def proposals(features, deltas):
    """Anchors, decoded boxes, the best ones and their features by bilinear weights."""
    y, x = tf.meshgrid(tf.range(8.0), tf.range(8.0), indexing="ij")
    centre = tf.stack([y, x], -1)[:, :, None] + 0.5
    size = tf.constant([[1.0, 1.0], [2.0, 1.0], [1.0, 2.0]] * 3)[None, None]
    d = tf.reshape(deltas, [8, 8, 9, 4])
    c, s = centre + d[..., :2] * size, size * tf.exp(d[..., 2:] * 0.5)
    boxes = tf.reshape(tf.concat([c - s / 2, c + s / 2], -1), [-1, 4])
    boxes = tf.clip_by_value(boxes, 0.0, 8.0)
    score = tf.reshape(tf.tile(tf.reduce_mean(features, -1)[0, :, :, None], [1, 1, 9]), [-1]) + boxes[:, 0] * 0.01
    top, index = tf.math.top_k(score, 20)
    chosen = tf.gather(boxes, index)
    keep = tf.image.non_max_suppression_padded(chosen, top, 8, 0.5, pad_to_max_output_size=True)
    area = tf.reduce_prod(chosen[:, 2:] - chosen[:, :2], 1)
    return [chosen, keep[0], keep[1], area]


@graph(f32(2, 6, 6, 4), f32(2, 6, 6, 2, low=-2, high=2))
def warp_by_flow(image, flow):
    """Bilinear sampling with gather_nd, and its gradients."""
    grid = tf.cast(tf.stack(tf.meshgrid(tf.range(6), tf.range(6), indexing="ij"), -1), tf.float32)[None]
    at = tf.clip_by_value(grid + flow, 0.0, 4.999)
    low = tf.floor(at)
    part = at - low
    low = tf.cast(low, tf.int32)
    out = 0.0
    for dy in (0, 1):
        for dx in (0, 1):
            weight = (part[..., 0] if dy else 1 - part[..., 0]) * (part[..., 1] if dx else 1 - part[..., 1])
            out += weight[..., None] * tf.gather_nd(image, low + [dy, dx], batch_dims=1)
    return [out] + pull_back(out, [image, flow])


# --- gradients by hand, numbers of other types ---
@graph(f32(4, 5), f32(5, 3))
def custom_gradients(x, w):
    @tf.custom_gradient
    def clipped(y):
        def back(dy, variables=None):
            return tf.clip_by_value(dy, -0.1, 0.1)

        return tf.identity(y), back

    @tf.custom_gradient
    def log_sum(y):
        e = tf.exp(y)
        return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    y = tf.reduce_sum(log_sum(clipped(x @ w)))
    reversed_y = tf.reduce_sum(tf.recompute_grad(lambda v: tf.tanh(v @ w))(x))
    return [y] + tf.gradients(y, [x, w]) + tf.gradients(reversed_y, [x])


@graph(f32(4, 6), f32(6, 3))
def half_precision_with_scale(x, w):
    h = tf.cast(x, tf.float16) @ tf.cast(w, tf.float16)
    b = tf.cast(tf.nn.gelu(tf.cast(x, tf.bfloat16)), tf.float32)
    loss = tf.reduce_sum(tf.cast(h, tf.float32) ** 2) * 128.0
    g = [v / 128.0 for v in tf.gradients(loss, [x, w])]
    finite = tf.reduce_all(tf.stack([tf.reduce_all(tf.math.is_finite(v)) for v in g]))
    return [b, tf.where(finite, g[0], 0.0), tf.where(finite, g[1], 0.0)]


@graph(s32(5, low=-100, high=100), s32(5, low=1, high=9))
def integers_of_all_kinds(x, y):
    b = tf.bitwise
    u = tf.cast(x, tf.uint8)
    return [
        x // y,
        x % y,
        tf.truncatediv(x, y),
        tf.truncatemod(x, y),
        b.bitwise_xor(x, y),
        b.left_shift(x, y),
        b.right_shift(x, y),
        tf.cast(b.invert(u), tf.int32),
        tf.raw_ops.PopulationCount(x=x),
        tf.math.floormod(tf.cast(x, tf.int64) * 1000003, 97),
        tf.cast(tf.cast(x, tf.float32) / 3, tf.int8),
        tf.bitcast(x, tf.float32) * 0,
        tf.clip_by_value(x, -5, 5),
        tf.sign(x),
        tf.abs(x),
        tf.pow(y, 3),
        tf.saturate_cast(x * 5, tf.uint8),
    ]


@graph(f32(6, low=0.1, high=4.0), f32(6, low=0.2, high=0.9))
def special_functions(x, p):
    m = tf.math
    return [
        m.lgamma(x),
        m.digamma(x),
        m.igamma(x, p),
        m.betainc(x, p + 1, p),
        m.erfinv(p),
        m.ndtri(p),
        m.bessel_i0e(x),
        m.bessel_i1e(x),
        m.zeta(x + 1.5, p),
        m.xlogy(x, p),
        m.xdivy(x, p),
        m.polygamma(tf.ones([6]), x),
        m.lbeta(tf.stack([x, p], 1)),
        m.log_sigmoid(x),
        m.nextafter(x, p),
        m.reciprocal_no_nan(x),
        m.softsign(x),
        m.expm1(x),
        m.acosh(x + 1),
        m.rint(x * 3),
    ]


@graph(f32(3, 4), f32(3, 4))
def complex_numbers(a, b):
    z = tf.complex(a, b)
    w = tf.exp(z) * tf.math.conj(z) / (z + 2.0)
    loss = tf.reduce_sum(tf.abs(w) ** 2)
    return [tf.math.real(w), tf.math.imag(w), tf.math.angle(z), tf.abs(tf.sqrt(z))] + tf.gradients(loss, [a, b])


# --- states and networks by hand, as frozen graphs have them ---
@graph(f32(2, 9, 5), f32(5 + 6, 24), f32(24), f32(6, 3))
@legacy
def frozen_lstm_classifier(x, w, b, out):
    """dynamic_rnn's loop with zeros after each row's length, and a softmax."""
    lengths = tf.constant([9, 6])
    inputs = tf.TensorArray(tf.float32, 9).unstack(tf.transpose(x, [1, 0, 2]))
    zero = tf.zeros([2, 6])

    def body(t, c, h, states):
        i, j, f, o = tf.split(tf.concat([inputs.read(t), h], 1) @ w + b, 4, 1)
        new_c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
        new_h = tf.sigmoid(o) * tf.tanh(new_c)
        runs = tf.less(t, lengths)[:, None]
        return t + 1, tf.where(runs, new_c, c), tf.where(runs, new_h, h), states.write(t, tf.where(runs, new_h, zero))

    limit = tf.minimum(tf.size(tf.zeros([9])), tf.maximum(1, tf.reduce_max(lengths)))
    _, _, h, states = tf1.while_loop(
        lambda t, *_: t < limit, body, [0, zero, zero, tf.TensorArray(tf.float32, 9)], parallel_iterations=32,
        swap_memory=True
    )
    return [tf.nn.softmax(h @ out), tf.transpose(states.stack(), [1, 0, 2])]


@graph(f32(2, 5, 8), f32(16, 8), f32(8, 7), f32(7, 8))
@legacy
def frozen_attention_decoder(memory, mix, out, table):
    """Greedy decoding with attention that ends when all rows have ended."""

    def body(t, state, ids, done, written):
        score = tf.nn.softmax(tf.einsum("bd,btd->bt", state, memory))
        context = tf.einsum("bt,btd->bd", score, memory)
        state = tf.tanh(tf.concat([context, tf.gather(table, ids)], 1) @ mix)
        ids = tf.where(done, tf.zeros_like(ids), tf.argmax(state @ out, 1, tf.int32))
        return t + 1, state, ids, tf.logical_or(done, tf.equal(ids, 0)), written.write(t, ids)

    start = [0, tf.zeros([2, 8]), tf.ones([2], tf.int32), tf.zeros([2], tf.bool), tf.TensorArray(tf.int32, 10)]
    t, _, _, done, written = tf1.while_loop(
        lambda t, s, i, done, w: tf.logical_and(t < 10, tf.logical_not(tf.reduce_all(done))), body, start
    )
    return [written.stack(), t, done]


@graph(f32(2, 8, 8, 3, low=0, high=255), f32(3, 3, 3, 4), f32(4), f32(4))
def frozen_preprocessing_and_network(x, w, scale, offset):
    """Bytes to floats, a convolution with a folded norm, pooling and scores, in NHWC and NCHW."""
    y = (x - [103.9, 116.8, 123.7]) / 58.0
    y = tf.nn.conv2d(tf.pad(y, [[0, 0], [1, 1], [1, 1], [0, 0]]), w, [1, 2, 2, 1], "VALID")
    y, mean, variance = tf1.nn.fused_batch_norm(y, tf.abs(scale), offset, is_training=True)
    y = tf.nn.relu6(y)
    y = tf.nn.max_pool2d(y, 2, 2, "SAME")
    z = tf.transpose(y, [0, 3, 1, 2])
    return [
        tf.nn.softmax(tf.reduce_mean(y, [1, 2])),
        mean,
        variance,
        tf.nn.local_response_normalization(y, 2),
        tf.reduce_max(z, [2, 3]),
        tf.nn.depthwise_conv2d(y, tf.tile(w[:, :, :1], [1, 1, 4, 1])[..., :1], [1, 1, 1, 1], "SAME"),
    ]


@graph(f32(6, 5), f32(5, 4), s32(6, high=4))
@legacy
def frozen_training_step(x, w, y):
    """Momentum, weight decay and a learning rate by steps, v1."""
    step = tf.constant(7.0)
    rate = tf1.train.exponential_decay(0.1, tf.cast(step, tf.int32), 3, 0.5, staircase=True)
    rate = rate() if callable(rate) else rate
    loss = tf1.losses.sparse_softmax_cross_entropy(y, x @ w) + 0.01 * tf.nn.l2_loss(w)
    g = tf.gradients(loss, w)[0]
    g, norm = tf.clip_by_global_norm([g], 0.5)
    return [
        loss,
        w - rate * g[0],
        norm,
        tf1.losses.huber_loss(x[:, :4], x @ w),
        tf1.losses.hinge_loss(tf.cast(x[:, :4] > 0, tf.float32), x @ w),
    ]
