"""More graphs for check_tf_models.py, registered in tf_graphs.GRAPHS: reading of lists that grow, three loops deep,
vectorised maps, sizes that depend on data, masks in place of ragged tensors, features."""
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
    _, out = tf1.while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, a.write(i, tf.sin(a.read(i - 1)) * x[i])),
                            [1, out])
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
        lambda i, y: tf.reduce_sum(y * y) > 0.2, lambda i, y: [i + 1, tf.tanh(y @ w) * 0.8], [0, x],
        maximum_iterations=6
    )
    return [y] + pull_back(y, [x, w])


@graph(f32(4, 3), f32(3, 3))
@traced
def while_with_maximum(x, w):
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        _, y = tf.while_loop(
            lambda i, y: tf.reduce_sum(y * y) > 0.2, lambda i, y: (i + 1, tf.tanh(y @ w) * 0.8), [0, x],
            maximum_iterations=6
        )
    return [y] + tape.gradient(y, [x, w])


@graph(f32(5, 3), f32(5, 4))
def map_of_pairs(x, y):
    a, b = tf.map_fn(
        lambda p: (tf.tensordot(p[0], p[1], 0), tf.reduce_max(p[0])), (x, y),
        fn_output_signature=(tf.float32, tf.float32)
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
    return [packed, tf.reduce_sum(tf.cast(keep, tf.int32), 1),
            tf.reduce_mean(tf.cast(tf.equal(packed, labels), tf.float32))]


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
