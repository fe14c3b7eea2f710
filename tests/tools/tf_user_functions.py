"""More graphs for check_tf_models.py, registered in tf_graphs.GRAPHS: reading of lists that grow, three loops deep,
tf.signal, tf.linalg, augmentation of images, masks in place of ragged tensors, gradients by hand, vectorised maps."""

import numpy as np
import tensorflow as tf

from tf_graphs import f32, graph, legacy, pull_back, s32, traced

tf1 = tf.compat.v1


# --- loops ---
@graph(f32(2, 3), f32(3, 3))
@traced
def three_constant_loops_gradient(x, w):
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = x
        for i in tf.range(2):
            for j in tf.range(3):
                for k in tf.range(2):
                    y = tf.sin(y @ w) * tf.cast(1 + i + j - k, tf.float32)
    return [y] + tape.gradient(y, [x, w])


@graph(f32(2, 3), f32(3, 3))
@legacy
def three_loops_gradient_v1(x, w):
    def loop(n, function, y):
        return tf1.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, function(y)), [0, y])[1]

    y = loop(2, lambda y: loop(3, lambda y: loop(2, lambda y: tf.sin(y @ w), y) + x, y), x)
    return [y] + pull_back(y, [x, w])


@graph(f32(2, 2), f32(2, 2))
@traced
def four_loops_gradient(x, w):
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = x
        for _ in tf.range(2):
            for _ in tf.range(2):
                for _ in tf.range(2):
                    for _ in tf.range(3):
                        y = tf.sin(y @ w)
    return [y] + tape.gradient(y, [x, w])


@graph(f32(6, 2))
@traced
def growing_array_read_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = tf.TensorArray(tf.float32, size=1, dynamic_size=True, clear_after_read=False)
        out = out.write(0, x[0])
        for i in tf.range(1, 6):
            out = out.write(i, tf.sin(out.read(i - 1)) * x[i])
        y = out.stack()
    return [y, tape.gradient(y, x)]


@graph(f32(5, 2))
@legacy
def growing_array_read_gradient_v1(x):
    out = tf.TensorArray(tf.float32, size=1, dynamic_size=True, clear_after_read=False).write(0, x[0])
    _, out = tf1.while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, a.write(i, tf.sin(a.read(i - 1)) * x[i])), [1, out])
    y = out.stack()
    return [y] + pull_back(y, [x])


@graph(f32(9), np.float32(0.2))
@traced
def growing_array_by_data(x, least):
    """Rows that pass a test, in a loop that runs nine times."""
    out = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
    for i in tf.range(9):
        if x[i] > least:
            out = out.write(out.size(), x[i] * 2)
    return [out.stack()]


@graph(f32(9), np.float32(0.2))
@traced
def growing_array_by_counter(x, least):
    """The same with a counter of its own."""
    out = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
    n = 0
    for i in tf.range(9):
        if x[i] > least:
            out = out.write(n, x[i] * 2)
            n += 1
    return [out.stack(), n]


@graph(f32(4), np.float32(5.0))
@traced
def growing_array_until(x, most):
    """Ends by its data, after twelve steps at most."""
    out = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[4])
    i, y = 0, x
    while i < 12 and tf.reduce_sum(tf.abs(y)) < most:
        out = out.write(i, y)
        y = y * 1.3
        i += 1
    return [out.stack(), y, i]


@graph(f32(4), np.float32(5.0))
@legacy
def growing_array_until_v1(x, most):
    out = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[4])
    i, y, out = tf1.while_loop(
        lambda i, y, _: tf.logical_and(i < 12, tf.reduce_sum(tf.abs(y)) < most),
        lambda i, y, a: (i + 1, y * 1.3, a.write(i, y)),
        [0, x, out],
    )
    return [out.stack(), y, i]


@graph(f32(4, 3), f32(3, 3))
@legacy
def while_with_maximum_v1(x, w):
    """Gradient of a loop that ends by its data, with a bound."""
    _, y = tf1.while_loop(
        lambda i, y: tf.reduce_sum(y * y) > 0.2, lambda i, y: [i + 1, tf.tanh(y @ w) * 0.8], [0, x], maximum_iterations=6
    )
    return [y] + pull_back(y, [x, w])


@graph(f32(4, 3), f32(3, 3))
@traced
def while_with_maximum(x, w):
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        _, y = tf.while_loop(
            lambda i, y: tf.reduce_sum(y * y) > 0.2, lambda i, y: (i + 1, tf.tanh(y @ w) * 0.8), [0, x], maximum_iterations=6
        )
    return [y] + tape.gradient(y, [x, w])


@graph(f32(5, 3), f32(5, 4))
def map_of_pairs(x, y):
    a, b = tf.map_fn(
        lambda p: (tf.tensordot(p[0], p[1], 0), tf.reduce_max(p[0])), (x, y), fn_output_signature=(tf.float32, tf.float32)
    )
    return [a, b] + pull_back(a, [x, y])


@graph(f32(6, 3), f32(3, 3))
def scans_both_ways(x, w):
    ahead = tf.scan(lambda h, v: tf.tanh(tf.linalg.matvec(w, h) + v), x, tf.zeros([3]))
    back = tf.scan(lambda h, v: h * 0.5 + v, x, reverse=True)
    return [ahead, back, tf.foldr(lambda h, v: h * v + 1.0, x)] + pull_back(ahead, [x, w])


@graph(f32(4, 3, 3), f32(4, 3))
def vectorised_solves(a, b):
    """pfor over matrices, reductions, products, slices and conditions."""
    eye = tf.eye(3) * 4

    def one(p):
        m, v = p
        y = tf.linalg.solve(m + eye, v[:, None])[:, 0]
        return (
            y,
            tf.nn.softmax(y),
            tf.where(v > 0, y, -y),
            tf.reduce_logsumexp(m),
            tf.sort(v),
            tf.pad(v, [[1, 1]]),
            tf.gather(v, tf.argmax(m, 0)),
        )

    return list(tf.vectorized_map(one, (a, b)))


@graph(f32(3, 5, 5, 2), f32(3, 3, 2, 4))
def gradients_by_example(x, w):
    """A convolution's gradient for each image, and the norm to which it is clipped."""

    def one(image):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = tf.reduce_sum(tf.nn.relu(tf.nn.conv2d(image[None], w, 1, "SAME")))
        g = tape.gradient(loss, w)
        return g / tf.maximum(1.0, tf.norm(g))

    return tf.reduce_mean(tf.vectorized_map(one, x), 0)


@graph(f32(3, 4), f32(4, 2))
def hessian_by_pfor(x, w):
    @tf.function
    def run(x, w):
        with tf.GradientTape() as outer:
            outer.watch(w)
            with tf.GradientTape() as inner:
                inner.watch(w)
                loss = tf.reduce_mean(tf.nn.softplus(x @ w))
            g = inner.gradient(loss, w)
        return outer.jacobian(g, w)

    return run(x, w)


@graph(f32(2, 4), f32(4, 4))
def batch_jacobian_with_gather(x, w):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.gather(tf.tanh(x @ w), [2, 0, 2], axis=1)
        return tape.batch_jacobian(y, x)

    return run(x)


@graph(f32(5), f32(5))
def forward_mode(x, v):
    @tf.function
    def run(x, v):
        with tf.autodiff.ForwardAccumulator(x, v) as acc:
            y = tf.cumsum(tf.sin(x)) * tf.reduce_sum(x)
        return y, acc.jvp(y)

    return list(run(x, v))


# --- sizes that depend on data ---
@graph(f32(6), s32(7, high=3))
def sizes_of_data(x, n):
    """Shape and Size of results that are as long as the data say, and arrays of such shapes."""
    at = tf.where(x > 0)
    unique = tf.unique(n)[0]
    count = tf.shape(at)[0]
    return [
        tf.shape(at),
        tf.size(tf.boolean_mask(x, x > 0)),
        tf.shape(unique)[0],
        tf.ones(tf.shape(at)[:1]),
        tf.range(1, 2 * count + 1, 2),
        tf.scatter_nd(at, tf.ones([count]), [8]),
        tf.fill([count, 2], x[0]),
        tf.broadcast_to(x[:1], [count]),
        tf.shape(at, tf.int64)[1] * 3,
    ]


@graph(f32(6, 3), f32(3, 2), s32(6, high=2))
def masks_of_rows(x, w, keep):
    kept = tf.boolean_mask(x, keep > 0)
    column = kept[:, 0]
    mean = tf.reduce_mean(kept, 0)
    return [
        kept,
        tf.reduce_sum(kept),
        mean,
        kept - mean,
        tf.reduce_max(column),
        tf.sort(column),
        tf.argmax(column),
        tf.nn.softmax(column),
        kept @ w,
        tf.concat([x[:1], kept], 0),
        tf.reshape(kept, [-1]),
        tf.reshape(tf.transpose(kept), [3, -1]),
        kept[1:],
        kept[:-1],
        column[-1],
        kept[:1],
        tf.gather(x, tf.where(keep > 0)[:, 0]),
        tf.where(column > 0, column, -column)[:, None] * kept,
    ]


@graph(f32(6), f32(6, 2))
def gradients_of_masks(x, y):
    kept = tf.boolean_mask(x, x > 0)
    loss = tf.reduce_mean(kept * kept) + tf.reduce_sum(tf.gather(y, tf.where(x < 0)[:, 0]))
    return [loss] + [tf.convert_to_tensor(g) for g in tf.gradients(loss, [x, y])]


@graph(f32(6), f32(1, 3))
def masks_of_other_bounds(x, w):
    """Arrays that are as long as each other, of which the graph knows other largest lengths."""
    y = tf.concat([x, [-1.0, -2.0]], 0)
    a, b = tf.boolean_mask(x, x > 0), tf.boolean_mask(y, y > 0)
    return [a + b, b - a * 2, b[:, None] * w + a[:, None], tf.where(a > 0.5, b, -a)]


@graph(f32(6))
def branches_of_sizes(x):
    """Branches whose results have other sizes."""
    a = tf.cond(tf.reduce_sum(x) > 100, lambda: x[:2], lambda: tf.boolean_mask(x, x > 0))
    b = tf.cond(tf.reduce_sum(x) < 100, lambda: x[:2], lambda: x)
    c = tf.switch_case(tf.cast(x[0] > 9, tf.int32), [lambda: tf.ones([3, 2]), lambda: tf.zeros([1, 2])])
    return [a, b, c, tf.reduce_sum(a), tf.shape(b)]


# --- masks and padding ---
@graph(f32(3, 6, 4), s32(3, low=1, high=7))
def masked_pooling(x, lengths):
    mask = tf.sequence_mask(lengths, 6, tf.float32)[..., None]
    mean = tf.reduce_sum(x * mask, 1) / tf.reduce_sum(mask, 1)
    most = tf.reduce_max(tf.where(mask > 0, x, x.dtype.min), 1)
    last = tf.gather_nd(x, tf.stack([tf.range(3), lengths - 1], 1))
    return [mean, most, last, tf.reverse_sequence(x, lengths, 1)] + pull_back(mean, [x])


@graph(s32(4, 9, high=4))
def padding_by_zeros(ids):
    """Lengths of rows by their end of sequence, and positions that count what is no padding."""
    real = tf.not_equal(ids, 0)
    positions = tf.cumsum(tf.cast(real, tf.int32), 1) * tf.cast(real, tf.int32)
    first = tf.argmax(tf.equal(ids, 3), 1)
    return [
        positions,
        first,
        tf.math.count_nonzero(ids, 1),
        tf.reduce_any(real, 1),
        tf.cumsum(ids, 1, exclusive=True, reverse=True),
    ]


@graph(f32(12), s32(12, high=4))
def segments_in_order(x, ids):
    ids = tf.sort(ids)
    return [
        tf.math.unsorted_segment_max(x, ids, 4),
        tf.math.unsorted_segment_sqrt_n(x, ids, 4),
        tf.math.unsorted_segment_prod(x, ids, 5),
    ] + pull_back(tf.math.unsorted_segment_sum(x, ids, 4), [x])


@graph(f32(2, 5, 8), s32(2, 5, high=2))
def banded_attention(x, keep):
    q, k = x[..., :4], x[..., 4:]
    near = tf.linalg.band_part(tf.ones([5, 5]), 2, 1)
    logits = tf.matmul(q, k, transpose_b=True) / 2 + (1 - near) * -1e9
    logits += (1 - tf.cast(keep, tf.float32))[:, None] * -1e9
    y = tf.nn.softmax(logits) @ x
    return [y] + pull_back(y, [x])


@graph(f32(2, 6, 5), s32(2, 4, high=5))
def alignment_by_edits(logits, target):
    """Soft costs of an edit distance by a loop over diagonals of rows."""
    cost = -tf.gather(tf.nn.log_softmax(logits), target, axis=2, batch_dims=1)
    row = tf.cumsum(tf.ones([2, 5]), 1, exclusive=True)
    for t in range(6):
        up = row[:, 1:] + 1.0
        diagonal = row[:, :-1] + cost[:, t]
        best = tf.minimum(up, diagonal)
        out = [row[:, 0] + 1.0]
        for j in range(4):
            out.append(tf.minimum(best[:, j], out[-1] + 1.0))
        row = tf.stack(out, 1)
    return [row] + pull_back(row[:, -1], [logits])


@graph(f32(4, 7, 6), s32(4, 7, high=6))
def beam_of_ctc(logits, labels):
    """Greedy decoding by masks: repeats and blanks go, what stays is packed in front."""
    best = tf.cast(tf.argmax(logits, 2), tf.int32)
    before = tf.pad(best[:, :-1], [[0, 0], [1, 0]], constant_values=-1)
    keep = tf.logical_and(tf.not_equal(best, before), tf.not_equal(best, 0))
    place = tf.cumsum(tf.cast(keep, tf.int32), 1) - 1
    place = tf.where(keep, place, 7)
    rows = tf.tile(tf.range(4)[:, None], [1, 7])
    packed = tf.tensor_scatter_nd_update(tf.fill([4, 8], -1), tf.stack([rows, place], 2), best)[:, :7]
    return [packed, tf.reduce_sum(tf.cast(keep, tf.int32), 1), tf.reduce_mean(tf.cast(tf.equal(packed, labels), tf.float32))]


# --- features without tables ---
@graph(f32(6, 1, low=0, high=60), s32(6, 1, high=5), s32(6, 1, high=7))
def feature_columns(age, job, city):
    """Buckets, crosses and shared embeddings as tf.feature_column made them."""
    bucket = tf.raw_ops.Bucketize(input=age, boundaries=[18.0, 30.0, 45.0])
    cross = (bucket * 7 + city) % 11
    hot = tf.concat([tf.one_hot(bucket[:, 0], 4), tf.one_hot(job[:, 0], 5), tf.one_hot(cross[:, 0], 11)], 1)
    table = tf.reshape(tf.sin(tf.range(35.0)), [7, 5])
    wide = hot @ tf.reshape(tf.cos(tf.range(40.0)), [20, 2])
    deep = tf.nn.embedding_lookup(table, city[:, 0])
    log = tf.math.log1p(age)
    scaled = (log - tf.reduce_mean(log)) / tf.math.reduce_std(log)
    return [wide, deep, scaled, tf.nn.l2_normalize(deep, 1)]


@graph(f32(20, 3), s32(20, high=2))
def batch_statistics(x, y):
    mean, variance = tf.nn.moments(x, [0])
    weighted = tf.nn.weighted_moments(x, [0], tf.cast(y, tf.float32)[:, None] + 0.5)
    order = tf.argsort(x, 0, "DESCENDING", stable=True)
    matrix = tf.math.confusion_matrix(y, tf.cast(x[:, 0] > 0, tf.int32), 2)
    middle = tf.sort(x, 0)[10]
    corr = tf.matmul(x - mean, x - mean, transpose_a=True) / 20
    return [
        mean,
        variance,
        order,
        matrix,
        middle,
        corr,
        tf.math.reduce_variance(x, 1),
        tf.math.zero_fraction(tf.nn.relu(x)),
    ] + list(weighted)


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
        images=x, transforms=transforms, output_shape=[10, 10], interpolation="BILINEAR", fill_mode="REFLECT", fill_value=0.0
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
    """dynamic_rnn's loop with zeros behind each row's length, and a softmax."""
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
        lambda t, *_: t < limit, body, [0, zero, zero, tf.TensorArray(tf.float32, 9)], parallel_iterations=32, swap_memory=True
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
