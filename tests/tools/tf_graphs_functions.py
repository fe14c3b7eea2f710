"""Graphs with If, While, Case and calls of functions, signals, images and models by hand, registered in
tf_graph_registry.GRAPHS."""
import numpy as np
import tensorflow as tf

from tf_graph_registry import f32, graph, pull_back, s32


# --- functions, If, While, Case ---
def traced(function):
    """As tf.function with AutoGraph makes it."""
    call = tf.function(function)

    def wrapped(*args):
        return call(*args)
    wrapped.__name__ = function.__name__
    return wrapped


@graph(s32(6, low=1, high=30))
@traced
def collatz(x):
    steps = tf.zeros_like(x)
    while tf.reduce_any(x > 1):
        even = tf.equal(x % 2, 0)
        steps += tf.cast(x > 1, tf.int32)
        x = tf.where(x > 1, tf.where(even, x // 2, 3 * x + 1), x)
    return steps


@graph(s32(7, low=-20, high=20))
@traced
def bubble_sort(x):
    for i in tf.range(7):
        for j in tf.range(6 - i):
            if x[j] > x[j + 1]:
                x = tf.tensor_scatter_nd_update(x, [[j], [j + 1]], [x[j + 1], x[j]])
    return x


@graph(s32(5, low=4, high=60), s32(5, low=4, high=60))
@traced
def greatest_common_divisor(a, b):
    while tf.reduce_any(b > 0):
        safe = tf.maximum(b, 1)
        a, b = tf.where(b > 0, b, a), tf.where(b > 0, a % safe, b)
    return a


AROUND = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]


@graph(s32(8, 8, high=2))
@traced
def game_of_life(x):
    x = tf.ensure_shape(x, [8, 8])
    for _ in tf.range(4):
        n = tf.add_n([tf.roll(x, list(by), [0, 1]) for by in AROUND])
        x = tf.cast(tf.equal(n, 3) | (tf.equal(x, 1) & tf.equal(n, 2)), tf.int32)
    return x


@graph(f32(12, low=-2, high=0.5), f32(10))
@traced
def mandelbrot(re, im):
    c = tf.complex(re[None, :] + 0 * im[:, None], im[:, None] + 0 * re[None, :])
    z, n = tf.zeros_like(c), tf.zeros([10, 12], tf.int32)
    for _ in tf.range(20):
        inside = tf.abs(z) < 2.0
        z = tf.where(inside, z * z + c, z)
        n += tf.cast(inside, tf.int32)
    return n


@graph(f32(3, 3), np.int32(13))
@traced
def matrix_power(a, n):
    result = tf.eye(3)
    while n > 0:
        if tf.equal(n % 2, 1):
            result = result @ a
        a = a @ a
        n = n // 2
    return result


@graph(s32(6, high=4), s32(5, high=4))
@traced
def levenshtein(a, b):
    row = tf.range(6)
    for i in tf.range(6):
        out = tf.TensorArray(tf.int32, 6, element_shape=[])
        out = out.write(0, i + 1)
        left = i + 1
        for j in tf.range(5):
            cost = tf.cast(tf.not_equal(a[i], b[j]), tf.int32)
            left = tf.minimum(tf.minimum(left + 1, row[j + 1] + 1), row[j] + cost)
            out = out.write(j + 1, left)
        row = out.stack()
    return row[5]


@graph(f32(20, 2), f32(3, 2))
@traced
def k_means(points, centres):
    for _ in tf.range(5):
        distance = tf.reduce_sum(tf.square(points[:, None] - centres[None]), 2)
        member = tf.argmin(distance, 1)
        sums = tf.math.unsorted_segment_sum(points, member, 3)
        number = tf.math.unsorted_segment_sum(tf.ones([20]), member, 3)
        centres = tf.where(number[:, None] > 0, sums / tf.maximum(number, 1.0)[:, None], centres)
    return [centres, member]


@graph(f32(6, 4), f32(4, 4))
@traced
def viterbi(emissions, transitions):
    back = tf.TensorArray(tf.int64, 6, element_shape=[4])
    score = emissions[0]
    back = back.write(0, tf.zeros([4], tf.int64))
    for t in tf.range(1, 6):
        all_scores = score[:, None] + transitions
        back = back.write(t, tf.argmax(all_scores, 0))
        score = tf.reduce_max(all_scores, 0) + emissions[t]
    path = tf.TensorArray(tf.int64, 6, element_shape=[])
    at = tf.argmax(score)
    t = 5
    while t >= 0:
        path = path.write(t, at)
        at = back.read(t)[tf.cast(at, tf.int32)]
        t -= 1
    return [path.stack(), tf.reduce_max(score)]


@graph(f32(2, low=0.2, high=1), np.float32(0.1))
@traced
def runge_kutta(y, h):
    def f(y):
        return tf.stack([y[0] * (1.0 - y[1]), y[1] * (y[0] - 1.0)])
    out = tf.TensorArray(tf.float32, 10, element_shape=[2])
    for i in tf.range(10):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out = out.write(i, y)
    return out.stack()


@graph(f32(5, 5))
@traced
def lu_by_loops(a):
    a = a + 5 * tf.eye(5)
    for k in tf.range(4):
        for i in tf.range(k + 1, 5):
            factor = a[i, k] / a[k, k]
            row = tf.where(tf.range(5) > k, a[i] - factor * a[k], tf.where(tf.equal(tf.range(5), k), factor, a[i]))
            a = tf.tensor_scatter_nd_update(a, [[i]], row[None])
    return a


@graph(f32(4, 4), f32(4))
@traced
def jacobi(a, b):
    a = a + 6 * tf.eye(4)
    d = tf.linalg.diag_part(a)
    x = tf.zeros_like(b)
    error = tf.constant(1.0)
    while error > 1e-4:
        new = (b - tf.linalg.matvec(a, x) + d * x) / d
        error = tf.reduce_max(tf.abs(new - x))
        x = new
    return x


@graph(f32(4), np.int32(1))
@traced
def cases_of_functions(x, n):
    y = tf.switch_case(n, [lambda: tf.sin(x), lambda: tf.cumsum(x), lambda: x * x])
    return [y, tf.switch_case(n + 5, {0: lambda: y + 1, 1: lambda: y * 2}, default=lambda: -y)]


@graph(f32(6), np.int32(4))
@traced
def break_and_continue(x, n):
    s = tf.constant(0.0)
    for i in tf.range(6):
        if x[i] < -0.5:
            continue
        if i > n:
            break
        s += x[i]
    return s


@graph(f32(5, 3))
def tape_in_loop(x):
    @tf.function
    def train(w):
        for _ in tf.range(5):
            with tf.GradientTape() as tape:
                tape.watch(w)
                loss = tf.reduce_mean(tf.square(tf.linalg.matvec(x, w) - 1.0))
            w -= 0.2 * tape.gradient(loss, w)
        return w, loss
    return train(tf.zeros([3]))


@graph(f32(3, 4), f32(4))
def gradients_of_while(x, w):
    @tf.function
    def run(x, w):
        for i in tf.range(3):
            if tf.reduce_sum(x) > 0:
                x = tf.tanh(x * w)
            else:
                x = tf.sin(x + w) * tf.cast(i + 1, tf.float32)
        return x
    y = run(x, w)
    return [y] + pull_back(y, [x, w])


@graph(f32(3, 3))
def custom_gradient_and_recompute(x):
    @tf.custom_gradient
    def clipped(v):
        return tf.nn.relu(v), lambda dy: tf.clip_by_value(dy, -0.3, 0.3)
    layer = tf.recompute_grad(lambda v: tf.sin(clipped(v) @ v))
    y = layer(x)
    return [y] + pull_back(y, [x])


@graph(f32(3, 4, 4))
def jacobians(x):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(x), [1])
        return tape.batch_jacobian(y, x)
    return run(x)


@graph(f32(4))
def second_derivatives(x):
    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.sin(x) * tf.exp(x[::-1]))
            g = inner.gradient(y, x)
        return g, outer.jacobian(g, x, experimental_use_pfor=False)
    return run(x)


@graph(f32(3, 5))
def vectorised(x):
    return tf.vectorized_map(lambda r: tf.linalg.matvec(tf.linalg.diag(r), tf.sin(r)) / (1 + tf.reduce_max(r) ** 2), x)


# --- signals and images ---
@graph(f32(2, 128))
def short_time_fourier(x):
    s = tf.signal.stft(x, 32, 8, 32)
    return [tf.abs(s), tf.signal.inverse_stft(s, 32, 8, 32), tf.signal.frame(x, 16, 8),
            tf.signal.overlap_and_add(tf.signal.frame(x, 16, 8), 8)]


@graph(f32(2, 256))
def mel_features(x):
    spectrum = tf.abs(tf.signal.stft(x, 64, 32, 64))
    mel = tf.tensordot(spectrum, tf.signal.linear_to_mel_weight_matrix(12, 33, 8000, 60.0, 3500.0), 1)
    logs = tf.math.log(mel + 1e-3)
    return [logs, tf.signal.mfccs_from_log_mel_spectrograms(logs)[..., :6]]


@graph(f32(3, 16))
def cosine_transforms(x):
    return [tf.signal.dct(x, t) for t in (1, 2, 3, 4)] + [tf.signal.idct(x, 2), tf.signal.mdct(tf.tile(x, [1, 4]), 16),
                                                         tf.signal.hilbert(x) if hasattr(tf.signal, "hilbert") else x]


@graph(f32(2, 9, 8, 3, low=0, high=1))
def image_colours(x):
    i = tf.image
    return [i.rgb_to_yuv(x), i.yuv_to_rgb(x), i.rgb_to_yiq(x), i.rgb_to_grayscale(x), i.grayscale_to_rgb(x[..., :1]),
            i.adjust_brightness(x, 0.2),
            i.adjust_gamma(x, 0.6), i.adjust_contrast(x, 1.4), i.adjust_hue(x, 0.1), i.adjust_saturation(x, 0.6),
            i.per_image_standardization(x),
            i.convert_image_dtype(x, tf.uint8)]


@graph(f32(2, 9, 8, 3, low=0, high=1))
def image_shapes(x):
    i = tf.image
    return [i.resize(x, [5, 11], m) for m in ("bilinear", "nearest", "bicubic", "area")] + [
        i.central_crop(x, 0.5), i.flip_left_right(x), i.flip_up_down(x), i.rot90(x, 3), i.transpose(x),
        i.pad_to_bounding_box(x, 1, 2, 12, 13), i.crop_to_bounding_box(x, 2, 1, 4, 5),
        i.resize_with_crop_or_pad(x, 6, 12), i.resize_with_pad(x, 6, 12),
        i.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")]


@graph(f32(2, 16, 16, 3, low=0, high=1), f32(2, 16, 16, 3, low=0, high=1))
def image_measures(x, y):
    i = tf.image
    return [i.ssim(x, y, 1.0, filter_size=5), i.psnr(x, y, 1.0), i.total_variation(x), i.sobel_edges(x),
            *i.image_gradients(x)]


# --- models by hand ---
@graph(s32(2, 6, high=11), f32(11, 8), f32(8, 24), f32(8, 8))
def attention_with_cache(tokens, table, qkv, out):
    """A decoder that keeps keys and values in arrays and writes one row a step."""
    x = tf.gather(table, tokens)

    @tf.function
    def run(x):
        keys, values = tf.zeros([2, 6, 8]), tf.zeros([2, 6, 8])
        ys = tf.TensorArray(tf.float32, 6, element_shape=[2, 8])
        for t in tf.range(6):
            q, k, v = tf.split(x[:, t] @ qkv, 3, 1)
            here = tf.one_hot(t, 6)[None, :, None]
            keys, values = keys * (1 - here) + here * k[:, None], values * (1 - here) + here * v[:, None]
            scores = tf.where(tf.range(6)[None] <= t, tf.einsum("bd,btd->bt", q, keys) / 8 ** 0.5, -1e9)
            ys = ys.write(t, tf.einsum("bt,btd->bd", tf.nn.softmax(scores), values) @ out)
        return tf.transpose(ys.stack(), [1, 0, 2])
    return run(x)


@graph(f32(10, 8), f32(8, 4), f32(4, 8, 8))
def mixture_of_experts(x, gate, experts):
    weights, chosen = tf.math.top_k(tf.nn.softmax(x @ gate), 2)
    picked = tf.gather(experts, chosen)
    return tf.einsum("nk,nkd->nd", weights / tf.reduce_sum(weights, 1, keepdims=True),
                     tf.einsum("nd,nkde->nke", x, picked))


@graph(f32(7, 5), s32(14, high=7), s32(14, high=7), f32(5, 5))
def graph_convolution(x, senders, receivers, w):
    messages = tf.nn.relu(tf.gather(x @ w, senders))
    total = tf.math.unsorted_segment_sum(messages, receivers, 7)
    number = tf.math.unsorted_segment_sum(tf.ones([14]), receivers, 7)
    y = total / tf.maximum(number, 1)[:, None] + tf.math.unsorted_segment_max(messages, receivers, 7) * 0.0 + x
    return [y] + pull_back(y, [x, w])


@graph(f32(2, 16, 3), f32(9, 3, 3), f32(3, 3))
def spectral_convolution(x, w, skip):
    f = tf.signal.rfft(tf.transpose(x, [0, 2, 1]))
    mixed = tf.einsum("bim,mio->bom", f, tf.complex(w, w * 0.5))
    return tf.transpose(tf.signal.irfft(mixed, [16]), [0, 2, 1]) + x @ skip


@graph(f32(2, 20, 4), f32(2, 4, 8), f32(2, 4, 8), f32(4, 4))
def wavenet(x, k1, k2, out):
    def layer(x, k, d):
        padded = tf.pad(x, [[0, 0], [d, 0], [0, 0]])
        a, b = tf.split(tf.nn.conv1d(padded, k, 1, "VALID", dilations=d), 2, 2)
        return x + (tf.tanh(a) * tf.sigmoid(b)) @ out
    y = layer(layer(x, k1, 1), k2, 4)
    return [y] + pull_back(y, [x, k1])


@graph(f32(3, 6), f32(6, 4), f32(2, 6), np.array([3, 7], np.int32))
def variational_autoencoder(x, encode, decode, seed):
    mean, log_variance = tf.split(x @ encode, 2, 1)
    z = mean + tf.exp(log_variance / 2) * tf.random.stateless_normal([3, 2], seed)
    rebuilt = tf.sigmoid(z @ decode)
    loss = tf.reduce_mean(tf.square(rebuilt - x)) - 0.05 * tf.reduce_mean(1 + log_variance - mean ** 2 -
                                                                          tf.exp(log_variance))
    return [loss] + tf.gradients(loss, [encode, decode])


@graph(f32(8, 4), f32(4, 3), np.array([5, 1], np.int32))
def dropout_step(x, w, seed):
    y = tf.nn.experimental.stateless_dropout(tf.nn.relu(x @ w), 0.4, seed)
    loss = tf.reduce_mean(y * y)
    return [y, w - 0.1 * tf.gradients(loss, w)[0]]


@graph(f32(4, 9, 3), s32(4, 5, low=1, high=3), s32(4, low=3, high=6), s32(4, low=7, high=10))
def losses_of_sequences(logits, labels, label_length, logit_length):
    words = tf.sequence_mask(label_length, 5, tf.float32)
    cross = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits[:, :5])
    return [tf.reduce_sum(cross * words), tf.cast(tf.reduce_sum(logit_length), tf.float32)]


@graph(f32(5, 5), f32(5, 2), f32(3, 4, 4))
def linear_algebra(a, b, m):
    s = a @ tf.transpose(a) + 5 * tf.eye(5)
    chol = tf.linalg.cholesky(s)
    return [chol, tf.linalg.solve(s, b), tf.linalg.inv(s), tf.linalg.triangular_solve(chol, b),
            tf.linalg.cholesky_solve(chol, b), tf.linalg.eigvalsh(s),
            tf.linalg.svd(m, compute_uv=False), tf.linalg.band_part(a, 1, 0), tf.linalg.trace(a),
            tf.linalg.expm(a * 0.3), tf.linalg.pinv(b),
            tf.linalg.det(m), tf.linalg.logdet(s), tf.linalg.slogdet(m)[1],
            tf.linalg.lstsq(tf.concat([a, a], 0)[:7] + 0.1, b[:1] * 0 + tf.ones([7, 2]))]
