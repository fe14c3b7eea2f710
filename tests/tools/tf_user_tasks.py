"""Graphs of tasks for check_tf_models.py, registered in tf_graphs.GRAPHS: speech and spectra, images, alignments,
segments, structured linear algebra, loops whose bodies branch, derivatives of all of them."""

import numpy as np
import tensorflow as tf

from tf_graphs import f32, graph, legacy, pull_back, refused, s32, traced

tf1 = tf.compat.v1


def slopes(function, *inputs):
    """Values of a function and the gradients of a weighted sum of them."""
    with tf.GradientTape() as tape:
        tape.watch(list(inputs))
        values = tf.nest.flatten(function(*inputs))
        loss = tf.add_n([tf.reduce_sum(tf.cos(tf.cast(v, tf.float32))) for v in values])
    return values + tape.gradient(loss, list(inputs), unconnected_gradients="zero")


# --- loops of TensorFlow 1 in loops ---
@graph(f32(4, 3))
@legacy
def foldl_in_map_gradient_v1(x):
    y = tf.map_fn(lambda row: tf.foldl(lambda a, v: tf.sin(a * v) + v, row), x)
    return [y] + pull_back(y, [x])


@graph(f32(3, 4), f32(2, 2))
@legacy
def foldr_in_map_gradient_v1(x, w):
    def fold(row):
        return tf.foldr(lambda a, v: tf.tanh(tf.linalg.matvec(w, a) * v), row, initializer=tf.ones([2]))

    y = tf.map_fn(fold, x)
    return [y] + pull_back(y, [x, w])


@graph(f32(3, 4), f32(2, 2))
@legacy
def scan_in_map_in_while_gradient_v1(x, w):
    def body(i, y):
        z = tf.map_fn(lambda row: tf.scan(lambda a, v: tf.sin(a + v) * w[0, 1], row), y)
        return i + 1, z + x

    y = tf1.while_loop(lambda i, _: i < 2, body, [0, x])[1]
    return [y] + pull_back(y, [x, w])


@graph(f32(3, 5))
@legacy
def cond_in_foldl_in_map_gradient_v1(x):
    def step(a, v):
        return tf.cond(v > 0, lambda: tf.sin(a) + v * a, lambda: a - v * v)

    y = tf.map_fn(lambda row: tf.foldl(step, row), x)
    return [y] + pull_back(y, [x])


@graph(f32(2, 3, 4))
@legacy
def three_maps_gradient_v1(x):
    y = tf.map_fn(lambda a: tf.map_fn(lambda b: tf.foldl(lambda c, v: tf.exp(-c * v) + c, b), a), x)
    return [y] + pull_back(y, [x])


# --- products ---
@graph(f32(2, 3, 4))
@traced
def gradients_of_products(x):
    return slopes(lambda v: [tf.reduce_prod(v, 1), tf.reduce_prod(v, [0, -1]), tf.reduce_prod(v)], x)


# --- speech and spectra ---
@graph(f32(2, 300))
def speech_front_end(x):
    def features(x):
        emphasised = x - 0.97 * tf.pad(x, [[0, 0], [1, 0]])[:, :-1]
        spectrum = tf.signal.stft(emphasised, 64, 32, 64, pad_end=True)
        mel = tf.matmul(tf.square(tf.abs(spectrum)), tf.signal.linear_to_mel_weight_matrix(12, 33, 8000, 80.0, 3800.0))
        return tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(mel + 1e-3))[..., :8]

    return slopes(features, x)


@graph(f32(2, 128))
def spectral_gate(x):
    spectrum = tf.signal.stft(x, 32, 8, window_fn=tf.signal.hamming_window)
    power = tf.abs(spectrum)
    floor = tf.reduce_mean(power, 1, keepdims=True)
    kept = tf.where(power > floor, spectrum, tf.zeros_like(spectrum))
    restored = tf.signal.inverse_stft(kept, 32, 8, window_fn=tf.signal.inverse_stft_window_fn(8,
        tf.signal.hamming_window))
    return [tf.math.real(kept), tf.math.imag(kept), restored, tf.signal.dct(x[:, :16], 3), tf.signal.dct(x[:, :16], 1)]


@graph(f32(8, 8), f32(4, 6, 10))
def spectra_of_planes(x, y):
    both = tf.signal.fft2d(tf.complex(x, tf.reverse(x, [0])))
    shifted = tf.signal.fftshift(both, axes=[0, 1])
    back = tf.math.real(tf.signal.ifft2d(tf.signal.ifftshift(shifted, axes=[0, 1])))
    volume = tf.signal.irfft3d(tf.signal.rfft3d(y) * tf.cast(0.5, tf.complex64), [4, 6, 10])
    return [tf.abs(shifted), back, volume, tf.signal.irfft2d(tf.signal.rfft2d(x), [8, 8])]


# --- alignments ---
@graph(f32(7, 3, 6), s32(3, 4, low=1, high=6), np.array([7, 5, 6], np.int32), np.array([2, 3, 1], np.int32))
def ctc_dense_gradient(logits, labels, frames, sizes):
    def loss(logits):
        return tf.nn.ctc_loss(labels, logits, sizes, frames, logits_time_major=True, blank_index=0)

    return slopes(loss, logits)


@graph(f32(6, 2, 5), np.array([6, 4], np.int32))
def ctc_greedy(logits, frames):
    best = tf.argmax(logits, -1, output_type=tf.int32)
    ids = tf.transpose(best)
    fresh = tf.concat([tf.ones([2, 1], tf.bool), tf.not_equal(ids[:, 1:], ids[:, :-1])], 1)
    kept = fresh & tf.not_equal(ids, 4) & tf.sequence_mask(frames, 6)
    place = tf.where(kept, tf.cumsum(tf.cast(kept, tf.int32), 1) - 1, tf.fill([2, 6], 6))
    rows = tf.repeat(tf.range(2)[:, None], 6, 1)
    return tf.tensor_scatter_nd_update(-tf.ones([2, 7], tf.int32), tf.stack([rows, place], -1), ids)[:, :6]


@graph(f32(5, 6, low=0, high=2))
@traced
def soft_warping_gradient(cost):
    """Soft dynamic time warping by rows, with a loop in a loop."""
    with tf.GradientTape() as tape:
        tape.watch(cost)
        last = tf.concat([tf.zeros([1]), tf.fill([6], 1e3)], 0)
        for i in tf.range(5):
            row = tf.TensorArray(tf.float32, 7, clear_after_read=False).write(0, 1e3)
            for j in tf.range(6):
                three = tf.stack([last[j], last[j + 1], row.read(j)])
                row = row.write(j + 1, cost[i, j] - tf.reduce_logsumexp(-three))
            last = row.stack()
        value = last[6]
    return [value, tape.gradient(value, cost)]


# --- images ---
@graph(f32(2, 6, 7, 3, low=0, high=1))
def colours(x):
    hsv = tf.image.rgb_to_hsv(x)
    bright = tf.image.adjust_contrast(tf.image.adjust_brightness(x, 0.1), 1.3)
    hue = tf.image.adjust_hue(tf.image.adjust_saturation(x, 0.6), 0.2)
    return [hsv, tf.image.hsv_to_rgb(hsv), bright, hue, tf.image.rgb_to_yuv(x), tf.image.yuv_to_rgb(x),
            tf.image.rgb_to_yiq(x),
            tf.image.rgb_to_grayscale(x), tf.image.adjust_gamma(x, 0.8, 1.1), tf.image.per_image_standardization(x)]


@graph(f32(2, 9, 8, 3, low=0, high=1), f32(2, 9, 8, 3, low=0, high=1))
def image_quality(x, y):
    return [tf.image.psnr(x, y, 1.0), tf.image.ssim(x, y, 1.0, filter_size=5), tf.image.total_variation(x),
            tf.image.sobel_edges(x)] + list(
        tf.image.image_gradients(x))


@graph(f32(1, 6, 5, 2))
def crops_and_sizes(x):
    def resized(x):
        return [tf.image.resize(x, [9, 4], m, antialias=a) for m, a in
                (("bilinear", False), ("bilinear", True), ("nearest", False), ("area", False), ("bicubic", False))]

    return resized(x) + [tf.image.central_crop(x, 0.5), tf.image.resize_with_crop_or_pad(x, 4, 8), tf.image.rot90(x, 3),
                         tf.image.pad_to_bounding_box(x, 1, 2, 9, 8), tf.image.transpose(x),
                         tf.image.flip_left_right(x)]


@refused("CropAndResize", f32(1, 6, 5, 2))
def crop_and_resize(x):
    return [tf.image.crop_and_resize(x, [[0.1, 0.2, 0.8, 0.9]], [0], [3, 3])]


@refused("Dilation2D", f32(2, 5, 6, 4))
def dilation(x):
    return [tf.nn.dilation2d(x, tf.ones([2, 2, 4]) * 0.1, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1])]


@graph(f32(2, 6, 6, 3), f32(2, 6, 6, 3))
def gradient_of_resizing(x, y):
    def both(x, y):
        return tf.image.resize(x, [4, 9], "bilinear") * tf.image.resize(y, [4, 9], "nearest"), tf.image.resize(x,
            [9, 3], "bicubic")

    return slopes(both, x, y)


@graph(f32(2, 5, 6, 4))
def patches_and_windows(x):
    patches = tf.image.extract_patches(x, [1, 3, 2, 1], [1, 1, 2, 1], [1, 2, 1, 1], "SAME")
    deep = tf.nn.space_to_batch(x[:, :4], [2, 3], [[0, 0], [0, 0]])
    return slopes(lambda x: [tf.nn.lrn(x, 2, 1.0, 0.3, 0.5)], x) + [patches, deep]


# --- linear algebra ---
@graph(f32(2, 5, 5), f32(2, 5, 3))
def regressions(a, b):
    def solved(a, b):
        square = tf.matmul(a, a, transpose_b=True) + 2 * tf.eye(5)
        root = tf.linalg.cholesky(square)
        return [tf.linalg.cholesky_solve(root, b), tf.linalg.triangular_solve(root, b, adjoint=True),
                tf.linalg.solve(a + 3 * tf.eye(5), b),
                tf.linalg.logdet(square), tf.linalg.lstsq(square, b, l2_regularizer=0.1)]

    return slopes(solved, a, b)


@graph(f32(6, 6), f32(6, 2))
def operators_of_matrices(a, b):
    operator = tf.linalg.LinearOperatorLowerTriangular(a + 3 * tf.eye(6))
    scaled = tf.linalg.LinearOperatorComposition([operator, tf.linalg.LinearOperatorDiag(tf.linalg.diag_part(a) + 2)])
    kronecker = tf.linalg.LinearOperatorKronecker([tf.linalg.LinearOperatorFullMatrix(a[:2, :2] + 2 * tf.eye(2)),
                                                   tf.linalg.LinearOperatorFullMatrix(a[:3, :3] + 2 * tf.eye(3))])
    circle = tf.linalg.LinearOperatorCirculant(tf.signal.fft(tf.complex(a[0] + 3, tf.zeros([6]))),
                                               input_output_dtype=tf.complex64)
    return [scaled.matmul(b), scaled.solve(b), scaled.log_abs_determinant(), kronecker.solve(b), kronecker.to_dense(),
            tf.math.real(circle.solve(tf.complex(b, tf.zeros_like(b)))),
            tf.linalg.LinearOperatorToeplitz(a[0], a[0]).matmul(b)]


@graph(f32(2, 4, 4), f32(2, 3, 6))
def decompositions(a, b):
    symmetric = a + tf.transpose(a, [0, 2, 1])
    values, vectors = tf.linalg.eigh(symmetric)
    s, u, v = tf.linalg.svd(b)
    q, r = tf.linalg.qr(b, full_matrices=True)
    rebuilt = tf.matmul(vectors * tf.exp(values)[:, None], vectors, transpose_b=True)
    return [values, rebuilt, s, tf.matmul(u * s[:, None], v, transpose_b=True), tf.abs(r), tf.matmul(q, r),
            tf.linalg.expm(a),
            tf.linalg.matrix_rank(b), tf.linalg.norm(b, "fro", [-2, -1]), tf.linalg.norm(b, 1, -1),
            tf.linalg.cross(a[0, :, :3], a[1, :, :3])]


@graph(f32(3, 7), f32(7, 2))
def bands(diagonals, b):
    dense = tf.linalg.diag(diagonals, k=(-1, 1), num_rows=7, num_cols=7)
    system = dense + 4 * tf.eye(7)
    compact = tf.linalg.diag_part(system, k=(-1, 1), align="LEFT_RIGHT")
    return [tf.linalg.solve(system, b), compact, tf.linalg.set_diag(dense, diagonals[0] * 2, k=0),
            tf.linalg.band_part(dense, 0, 1),
            tf.linalg.tridiagonal_matmul(tf.stack([diagonals[0], diagonals[1], diagonals[2]]), b, "compact")]


# --- segments and sets ---
@graph(f32(10, 3), s32(10, high=6))
def segments(x, ids):
    ordered = [0, 0, 1, 1, 1, 3, 3, 4, 4, 4]

    def sums(x):
        return [tf.math.segment_sum(x, ordered), tf.math.unsorted_segment_mean(x, ids, 6),
                tf.math.unsorted_segment_sqrt_n(x, ids, 6),
                tf.math.unsorted_segment_max(x, ids, 6), tf.math.segment_max(x, ordered),
                tf.math.segment_mean(x, ordered)]

    return slopes(sums, x)


@graph(f32(12), s32(12, high=5))
def attention_over_edges(score, target):
    """Softmax over the edges that enter a node, as a graph network takes it."""
    def normalised(score):
        most = tf.math.unsorted_segment_max(score, target, 5)
        weight = tf.exp(score - tf.gather(most, target))
        return weight / tf.gather(tf.math.unsorted_segment_sum(weight, target, 5), target)

    return slopes(normalised, score)


@graph(f32(4, 9), s32(4, 3, high=9))
def orders(x, ids):
    values, places = tf.math.top_k(x, 4)
    order = tf.argsort(x, direction="DESCENDING", stable=True)
    inverse = tf.argsort(order)
    return [values, places, order, tf.gather(x, order, batch_dims=1), tf.gather(tf.sort(x), inverse, batch_dims=1),
            tf.searchsorted(tf.sort(x), x[:, :3], "right"), tf.one_hot(ids, 9, 2.0, -1.0, 1),
            tf.math.invert_permutation(order[0]),
            tf.math.bincount(tf.reshape(ids, [-1]), minlength=9, maxlength=9), tf.math.in_top_k(ids[:, 0], x, 3)]


@graph(f32(5, 4), s32(3, 2, high=5))
def scatters(x, rows):
    index = tf.reshape(rows, [-1])[:, None]
    updates = tf.reshape(tf.range(24, dtype=tf.float32), [6, 4]) / 10

    def changed(x):
        return [tf.tensor_scatter_nd_add(x, index, updates), tf.tensor_scatter_nd_max(x, index, updates),
                tf.gather_nd(x, rows % 4),
                tf.tensor_scatter_nd_min(x, index, -updates), tf.scatter_nd(index, tf.gather(x, index[:, 0]), [5, 4])]

    return slopes(changed, x)


# --- loops and branches ---
@graph(f32(3, 4), f32(4, 4), np.int32(3))
@traced
def branches_in_loop_gradient(x, w, n):
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y, i = x, tf.constant(0)
        while i < 5:
            if tf.equal(i, n):
                y = tf.nn.relu(y @ w) + x
            elif tf.reduce_sum(y) > 0:
                y = tf.sin(y) @ w
            else:
                y = tf.switch_case(i % 3, [lambda y=y: tf.cos(y), lambda y=y: y @ tf.transpose(w), lambda y=y: y * 0.5])
            i += 1
    return [y] + tape.gradient(y, [x, w])


@graph(f32(4, 4), f32(4))
@traced
def conjugate_gradients(a, b):
    a = tf.matmul(a, a, transpose_b=True) + tf.eye(4)
    x, r = tf.zeros_like(b), b
    p = r
    while tf.norm(r) > 1e-4:
        ap = tf.linalg.matvec(a, p)
        alpha = tf.tensordot(r, r, 1) / tf.tensordot(p, ap, 1)
        x, before = x + alpha * p, tf.tensordot(r, r, 1)
        r = r - alpha * ap
        p = r + tf.tensordot(r, r, 1) / before * p
    return x


@graph(f32(3, 6), f32(6, 6))
@traced
def early_exit(x, w):
    """Layers until each row is sure, with `continue` and `break`."""
    done, steps, y = tf.zeros([3], tf.bool), tf.zeros([3], tf.int32), x
    for i in tf.range(6):
        if tf.equal(i, 1):
            continue
        y = tf.where(done[:, None], y, tf.tanh(y @ w) + x)
        steps += tf.cast(~done, tf.int32)
        done = done | (tf.reduce_max(tf.nn.softmax(y), 1) > 0.3)
        if tf.reduce_all(done):
            break
    return y, steps


@graph(f32(2, 3), np.float32(0.7))
def fixed_point_with_custom_gradient(x, s):
    @tf.custom_gradient
    def solve(x, s):
        y = tf.while_loop(lambda i, y: i < 30, lambda i, y: (i + 1, tf.tanh(s * y + x)), [0, x])[1]

        def pull(g):
            slope = s * (1 - y * y)
            u = tf.while_loop(lambda i, u: i < 30, lambda i, u: (i + 1, g + u * slope), [0, g])[1]
            inner = u * (1 - y * y)
            return inner, tf.reduce_sum(inner * y)

        return y, pull

    return slopes(solve, x, s)


@graph(f32(4, 5), s32(4, low=1, high=6))
def recurrence_by_lengths(x, lengths):
    """A map over rows whose loops have lengths of their own."""
    def row(pair):
        values, n = pair
        return tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, tf.sin(a) + values[i]), [0, 0.0],
                             maximum_iterations=5)[1]

    return slopes(lambda x: tf.map_fn(row, (x, lengths), fn_output_signature=tf.float32), x)


# --- numbers ---
@graph(f32(3, 5, low=0.3, high=3), f32(3, 5, low=0.3, high=3))
def special_gradients(x, y):
    def values(x, y):
        return [tf.math.lgamma(x), tf.math.digamma(x), tf.math.igamma(x, y), tf.math.erf(x - y), tf.math.ndtri(x / 4),
                tf.math.xlogy(x, y),
                tf.math.bessel_i1e(x), tf.math.zeta(x + 1.5, y), tf.math.erfcinv(x / 2), tf.math.lbeta(x)]

    return slopes(values, x, y)


@refused("Expint", f32(3, 5, low=0.3, high=3))
def exponential_integral(x):
    return [tf.math.special.expint(x)]


@refused("FresnelCos", f32(3, 5))
def fresnel_integral(x):
    return [tf.math.special.fresnel_cos(x)]


@refused("Dawsn", f32(3, 5))
def dawson_integral(x):
    return [tf.math.special.dawsn(x)]


@refused("Spence", f32(3, 5, low=0.3, high=3))
def dilogarithm(x):
    return [tf.math.special.spence(x)]


@graph(f32(3, 4), s32(3, 4, low=-20, high=20), s32(3, 4, low=1, high=7))
def quantised_and_bits(x, a, b):
    faked = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, tf.fill([4], -0.8), tf.fill([4], 0.9), 6)
    return slopes(lambda x: [tf.quantization.fake_quant_with_min_max_args(x, -0.5, 0.7, 5)], x) + [
        faked, tf.bitwise.bitwise_xor(a, b), tf.bitwise.left_shift(a, b), tf.bitwise.right_shift(a, b),
        tf.bitwise.invert(a), a // b, a % b,
        tf.truncatediv(a, b), tf.truncatemod(a, b), tf.math.floormod(x, 0.3),
        tf.quantization.quantize_and_dequantize_v2(x, -1.0, 1.0, range_given=True)]


# Truncated normal numbers are not among them: they come from another formula than TensorFlow's (hlorun-tensorflow(7)).
@graph(np.array([3, 5], np.int32))
def stateless_numbers(seed):
    z = tf.random.experimental
    shape = [3, 4]
    return [tf.random.stateless_uniform(shape, seed), tf.random.stateless_normal(shape, seed, alg="philox"),
            tf.random.stateless_uniform(shape, seed, -5, 9, tf.int32),
            tf.random.stateless_categorical(tf.math.log([[0.1, 0.6, 0.3]]), 9, seed), z.stateless_fold_in(seed, 7),
            z.stateless_split(seed, 3),
            tf.random.stateless_uniform(shape, seed, None, None, tf.uint32)]


@refused("StatelessShuffle", np.array([3, 5], np.int32))
def stateless_shuffle(seed):
    return [tf.random.experimental.stateless_shuffle(tf.range(9), seed)]


@graph(s32(3, 8, high=12), f32(12, 4), f32(4, 3))
def text_embedding(ids, table, w):
    """Words hashed into rows, pooled by a mask, as a bag-of-words classifier does."""
    def score(table, w):
        mask = tf.cast(ids > 0, tf.float32)[..., None]
        hashed = tf.nn.embedding_lookup(table, (ids * 7 + 3) % 12)
        pooled = tf.math.divide_no_nan(tf.reduce_sum(hashed * mask, 1), tf.reduce_sum(mask, 1))
        bag = tf.reduce_max(tf.one_hot(ids, 12), 1) @ table
        return tf.nn.log_softmax((pooled + bag) @ w)

    return slopes(score, table, w)
