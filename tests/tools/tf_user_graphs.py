"""More graphs for check_tf_models.py, registered in tf_graphs.GRAPHS: loops in loops and their gradients, lists that
grow, searches, detection heads, branches of which one is dead."""
import numpy as np
import tensorflow as tf

from tf_graphs import f32, graph, legacy, pull_back, s32, traced

tf1 = tf.compat.v1


# --- gradients of loops in loops ---
@graph(f32(4, 3), f32(3, 3))
@traced
def triangle_of_loops(x, w):
    """The inner loop runs as often as the counter of the outer one says."""
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        total = tf.constant(0.0)
        for i in tf.range(4):
            y = x[i]
            for _ in tf.range(i + 1):
                y = tf.tanh(tf.linalg.matvec(w, y))
            total += tf.reduce_sum(y)
    return [total] + tape.gradient(total, [x, w])


@graph(f32(5, 2), f32(2, 2))
@traced
def three_loops_deep(x, w):
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = x
        for i in tf.range(2):
            for j in tf.range(i, 3):
                for _ in tf.range(j - i + 1):
                    y = tf.sin(y @ w)
    return [y] + tape.gradient(y, [x, w])


@graph(f32(6), f32(6))
@traced
def inner_loop_with_break(x, w):
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = x
        for i in tf.range(3):
            for j in tf.range(6):
                if j > i + 2:
                    break
                y = tf.sin(y) * w
    return [y] + tape.gradient(y, [x, w])


@graph(f32(4, 3))
@traced
def arrays_in_both_loops(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        rows = tf.TensorArray(tf.float32, 4)
        for i in tf.range(4):
            row = tf.TensorArray(tf.float32, 3, element_shape=[])
            for j in tf.range(3):
                row = row.write(j, tf.sin(x[i, j]) * tf.cast(i + j, tf.float32))
            rows = rows.write(i, row.stack())
        y = rows.stack()
        loss = tf.reduce_sum(y * y)
    return [y, tape.gradient(loss, x)]


@graph(f32(3, 4))
def second_derivative_of_loop(x):
    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x
                for _ in tf.range(3):
                    y = tf.sin(y) * x
            g = inner.gradient(y, x)
        return y, g, outer.gradient(g, x)
    return run(x)


@graph(f32(3, 3), f32(3))
@legacy
def triangle_of_loops_v1(a, x):
    def outer(i, y):
        def inner(j, z):
            return j + 1, tf.sin(tf.linalg.matvec(a, z))
        return i + 1, tf1.while_loop(lambda j, _: j < i + 1, inner, [0, y])[1]
    _, y = tf1.while_loop(lambda i, _: i < 4, outer, [0, x])
    return [y] + pull_back(y, [a, x])


@graph(f32(5, 3))
@legacy
def loop_in_cond_in_loop_v1(x):
    def body(i, y):
        def long():
            return tf1.while_loop(lambda j, _: j < 3, lambda j, z: (j + 1, tf.cos(z) * x[i]), [0, y])[1]
        return i + 1, tf1.cond(i < 2, long, lambda: y * 0.5)
    _, y = tf1.while_loop(lambda i, _: i < 5, body, [0, x[0]])
    return [y] + pull_back(y, [x])


@graph(f32(4), np.bool_(True))
@legacy
def dead_branches_v1(x, flag):
    """A Merge in a branch that a constant rules out, and one in a branch of a parameter."""
    never = tf.constant(False)
    a = tf1.cond(never, lambda: tf1.cond(flag, lambda: x + 1, lambda: x * 2), lambda: tf.sin(x))
    b = tf1.cond(flag, lambda: tf1.cond(never, lambda: x - 1, lambda: a * 3),
                 lambda: tf1.cond(tf.constant(True), lambda: a, lambda: x))
    loop = lambda: tf1.while_loop(lambda i, _: i < 4, lambda i, y: (i + 1, y * 1.5), [0, b])[1]
    c = tf1.cond(never, loop, lambda: tf1.cond(flag, loop, lambda: x))
    return [a, b, c] + pull_back(c, [x])


@graph(f32(3), np.int32(1))
@legacy
def switch_case_of_loops_v1(x, n):
    def power(k):
        return lambda: tf1.while_loop(lambda i, _: i < k, lambda i, y: (i + 1, y * x), [0, tf.ones_like(x)])[1]
    return [tf1.case([(tf.equal(n, i), power(i + 1)) for i in range(3)], default=lambda: x * 0, exclusive=True)]


# --- arrays and lists that grow ---
@graph(f32(7))
@traced
def growing_array(x):
    """A list comprehension of AutoGraph."""
    out = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
    for i in tf.range(7):
        out = out.write(i, x[i] * 2)
    return out.stack()


@graph(f32(7, 2))
@traced
def growing_array_by_size(x):
    out = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for row in x:
        out = out.write(out.size(), tf.sin(row))
    return out.stack()


@graph(f32(6, 2))
@traced
def growing_array_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = tf.TensorArray(tf.float32, size=1, dynamic_size=True)
        out = out.write(0, x[0])
        for i in tf.range(1, 6):
            out = out.write(i, tf.sin(x[i - 1]) * x[i])
        y = out.stack()
    return [y, tape.gradient(y, x)]


@graph(f32(4, 3))
@legacy
def growing_array_v1_outside(x):
    out = tf.TensorArray(tf.float32, size=2, dynamic_size=True, infer_shape=False)
    for i in range(4):
        out = out.write(i, x[i] * (i + 1.0))
    return out.gather([3, 1, 0])


@graph(f32(5, 2))
@legacy
def growing_array_v1_loop(x):
    """What the loop can need is known from its condition."""
    out = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    _, out = tf1.while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, a.write(i, tf.sin(x[i]))), [0, out])
    y = out.stack()
    return [y] + pull_back(y, [x])


@graph(f32(6, 2), s32(6, high=2))
@traced
def growing_array_at_times(x, keep):
    """As many rows as the data says: the graph's caller slices."""
    out = tf.TensorArray(tf.float32, size=6, element_shape=[2])
    n = tf.constant(0)
    for i in tf.range(6):
        if keep[i] > 0:
            out = out.write(n, x[i])
            n += 1
    return out.stack(), n


@graph(f32(6, 2))
@traced
def growing_array_that_is_read(x):
    out = tf.TensorArray(tf.float32, size=1, dynamic_size=True, clear_after_read=False)
    out = out.write(0, x[0])
    for i in tf.range(1, 6):
        out = out.write(i, tf.sin(out.read(i - 1)) + x[i])
    return out.stack()


# --- searches and decoding ---
@graph(f32(2, 8), f32(8, 8), f32(8, 11), f32(11, 8))
@traced
def beam_search(state, w, out, table):
    beams, vocabulary = 3, 11
    states = tf.repeat(state, beams, 0)
    scores = tf.tile(tf.constant([[0.0, -1e9, -1e9]]), [2, 1])
    last = tf.ones([2 * beams], tf.int32)
    sequences = tf.zeros([2, beams, 6], tf.int32)
    finished = tf.zeros([2, beams], tf.bool)
    for t in tf.range(6):
        states = tf.tanh(states @ w + tf.gather(table, last))
        logits = tf.reshape(tf.nn.log_softmax(states @ out), [2, beams, vocabulary])
        only_end = tf.one_hot(0, vocabulary, 0.0, -1e9)
        logits = tf.where(finished[..., None], only_end, logits)
        total = tf.reshape(scores[..., None] + logits, [2, -1])
        scores, index = tf.math.top_k(total, beams)
        parent, token = index // vocabulary, index % vocabulary
        sequences = tf.gather(sequences, parent, batch_dims=1)
        finished = tf.gather(finished, parent, batch_dims=1) | tf.equal(token, 0)
        states = tf.reshape(tf.gather(tf.reshape(states, [2, beams, 8]), parent, batch_dims=1), [-1, 8])
        sequences = tf.where(tf.equal(tf.range(6), t), token[..., None], sequences)
        last = tf.reshape(token, [-1])
        if tf.reduce_all(finished):
            break
    return [sequences, scores]


@graph(f32(2, 5, 8), f32(2, 4, 8), f32(16, 8), f32(8, 8))
@traced
def attention_decoder_step_gradient(memory, targets, mix, w):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([memory, mix, w])
        state = tf.zeros([2, 8])
        outputs = tf.TensorArray(tf.float32, 4)
        for t in tf.range(4):
            score = tf.nn.softmax(tf.einsum("bd,btd->bt", state @ w, memory))
            context = tf.einsum("bt,btd->bd", score, memory)
            state = tf.tanh(tf.concat([targets[:, t], context], 1) @ mix)
            outputs = outputs.write(t, state)
        y = tf.transpose(outputs.stack(), [1, 0, 2])
        loss, norm = tf.reduce_mean(tf.square(y - targets)), tf.reduce_sum(w * w)
    return [loss] + tape.gradient(loss, [memory, mix, w]) + [tape.gradient(norm, w)]


@graph(f32(2, 40, 4, low=0, high=1), f32(2, 40, 3, low=0, high=1))
def detection_head(boxes, scores):
    corners = tf.concat([tf.minimum(boxes[..., :2], boxes[..., 2:]), tf.maximum(boxes[..., :2], boxes[..., 2:])], 2)
    best = tf.reduce_max(scores, 2)
    kept, valid = tf.image.non_max_suppression_padded(corners, best, 10, 0.4, 0.1, pad_to_max_output_size=True,
                                                      sorted_input=False,
                                                      canonicalized_coordinates=True)
    top, where = tf.math.top_k(best, 5)
    return [kept, valid, top, tf.gather(corners, where, batch_dims=1), tf.argmax(scores, 2)]


@graph(f32(2, 3, 24), f32(6, 4))
def capsules(u, w):
    """Routing by agreement, in a loop of Keras' kind."""
    votes = tf.einsum("bif,fo->bifo", tf.reshape(u, [2, 12, 6]), w)
    logits = tf.zeros([2, 12, 6])

    def body(i, logits, v):
        c = tf.nn.softmax(logits, 2)
        s = tf.reduce_sum(c[..., None] * votes, 1)
        n = tf.reduce_sum(s * s, -1, keepdims=True)
        v = n / (1 + n) * s / tf.sqrt(n + 1e-7)
        return i + 1, logits + tf.reduce_sum(votes * v[:, None], -1), v
    _, logits, v = tf.while_loop(lambda i, *_: i < 3, body, [0, logits, tf.zeros([2, 6, 4])])
    return [v] + pull_back(v, [u, w])


@graph(f32(3, 7, 5), s32(3, 3, low=1, high=5))
def connectionist_temporal(logits, labels):
    loss = tf.nn.ctc_loss(labels, tf.transpose(logits, [1, 0, 2]), tf.constant([3, 2, 3]), tf.constant([7, 6, 7]),
                          blank_index=0)
    return [loss] + tf.gradients(loss, logits)


# --- models by hand ---
@graph(f32(8, 3), f32(8), f32(1, low=0.5, high=1.5))
def gaussian_process(x, y, scale):
    distance = tf.reduce_sum(tf.square(x[:, None] - x[None]), 2)
    k = tf.exp(-distance / (2 * scale * scale)) + 0.1 * tf.eye(8)
    c = tf.linalg.cholesky(k)
    a = tf.linalg.cholesky_solve(c, y[:, None])
    loss = 0.5 * tf.reduce_sum(y[:, None] * a) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(c)))
    return [loss] + tf.gradients(loss, [scale, x])


@graph(f32(9, 2), f32(4, 4), f32(2, 4))
def kalman_filter(z, a, h):
    a = a * 0.3 + tf.eye(4)

    def step(state, z):
        x, p = state
        x, p = tf.linalg.matvec(a, x), a @ p @ tf.transpose(a) + 0.1 * tf.eye(4)
        s = h @ p @ tf.transpose(h) + 0.2 * tf.eye(2)
        k = p @ tf.transpose(h) @ tf.linalg.inv(s)
        return x + tf.linalg.matvec(k, z - tf.linalg.matvec(h, x)), (tf.eye(4) - k @ h) @ p
    x, p = tf.scan(step, z, (tf.zeros([4]), tf.eye(4)))
    return [x, p[-1]] + tf.gradients(tf.reduce_sum(x * x), z)


@graph(f32(6, 8), s32(6, high=3))
def hard_triplets(x, label):
    """The farthest example of the same class against the nearest of another."""
    x = tf.math.l2_normalize(x, 1)
    d = tf.sqrt(tf.maximum(2 - 2 * x @ tf.transpose(x), 1e-6))
    same = tf.equal(label[:, None], label[None])
    far = tf.reduce_max(tf.where(same, d, 0.0), 1)
    near = tf.reduce_min(tf.where(same, 10.0, d), 1)
    loss = tf.reduce_mean(tf.nn.relu(far - near + 0.3))
    return [loss] + tf.gradients(loss, x)


@graph(f32(2, 8, 8, 6), f32(6, 18), f32(6, 6))
def shifted_windows(x, qkv, out):
    def windows(v):
        v = tf.reshape(v, [2, 2, 4, 2, 4, 6])
        return tf.reshape(tf.transpose(v, [0, 1, 3, 2, 4, 5]), [-1, 16, 6])
    rolled = tf.roll(x, [-2, -2], [1, 2])
    q, k, v = tf.split(windows(rolled) @ qkv, 3, 2)
    regions = np.zeros([1, 8, 8, 6], np.float32)
    regions[:, 4:6] += 1
    regions[:, :, 4:6] += 2
    region = windows(tf.constant(np.tile(regions, [2, 1, 1, 1])))[..., 0]
    mask = tf.where(tf.equal(region[:, :, None], region[:, None]), 0.0, -100.0)
    y = tf.nn.softmax(q @ tf.transpose(k, [0, 2, 1]) / 6 ** 0.5 + mask) @ v @ out
    y = tf.transpose(tf.reshape(y, [2, 2, 2, 4, 4, 6]), [0, 1, 3, 2, 4, 5])
    y = x + tf.roll(tf.reshape(y, [2, 8, 8, 6]), [2, 2], [1, 2])
    return [y] + pull_back(y, [x, qkv])


@graph(f32(3, 12, 6), f32(6, 6), f32(6, 6), f32(6, 6))
def linear_attention(x, a, b, c):
    q, k, v = tf.nn.elu(x @ a) + 1, tf.nn.elu(x @ b) + 1, x @ c
    state = tf.cumsum(tf.einsum("btd,bte->btde", k, v), 1)
    y = tf.einsum("btd,btde->bte", q, state) / (tf.einsum("btd,btd->bt", q, tf.cumsum(k, 1)) + 1e-6)[..., None]
    return [y] + pull_back(y, [x, a])


@graph(f32(16), s32(16, high=6), s32(10, high=5))
def counts_and_orders(x, n, ids):
    unique, index, number = tf.unique_with_counts(n)
    return [tf.sort(x, direction="DESCENDING"), tf.argsort(n, stable=True),
            tf.math.bincount(n, minlength=6, maxlength=6),
            tf.histogram_fixed_width(x, [-1.0, 1.0], 5), tf.searchsorted(tf.sort(x), [0.1, -0.4]),
            tf.math.in_top_k([1, 0], tf.reshape(x, [2, 8]), 3),
            tf.reduce_sum(unique), tf.reduce_max(number), index, tf.math.unsorted_segment_mean(x[:10], ids, 5),
            tf.math.cumulative_logsumexp(x), tf.nn.top_k(x, 4)[1],
            tf.raw_ops.UpperBound(sorted_inputs=tf.sort(x)[None], values=[[0.0]])]


@graph(f32(2, 10, 10, 3, low=0, high=1), np.array([2, 9], np.int32))
def image_pipeline(x, seed):
    i = tf.image
    y = i.stateless_random_crop(x, [2, 8, 8, 3], seed)
    y = i.stateless_random_flip_left_right(y, seed)
    y = i.stateless_random_brightness(y, 0.2, seed)
    y = i.stateless_random_contrast(y, 0.6, 1.4, seed)
    y = i.stateless_random_hue(y, 0.1, seed)
    y = i.stateless_random_saturation(y, 0.5, 1.5, seed)
    y = i.resize(y, [12, 12], "bilinear", antialias=True)
    boxes = tf.constant([[0.1, 0.1, 0.8, 0.9], [0.0, 0.3, 1.0, 0.7]])
    return [y, i.crop_and_resize(x, boxes, [0, 1], [5, 5]), i.resize(x, [7, 7], "lanczos3"),
            i.resize(x, [7, 7], "mitchellcubic"),
            i.draw_bounding_boxes(x, boxes[:, None], tf.ones([1, 3]))]


@graph(f32(3, 6), f32(6, 4), f32(4, 4))
def stopped_and_clipped(x, w, v):
    @tf.custom_gradient
    def straight_through(z):
        return tf.round(z), lambda dy: dy
    h = straight_through(x @ w * 4) / 4
    y = h @ tf.stop_gradient(v) + tf.grad_pass_through(tf.sign)(h)
    g = tf.gradients(tf.reduce_sum(y * y), [x, w])
    clipped, norm = tf.clip_by_global_norm(g, 0.7)
    return [y, norm, tf.clip_by_norm(g[0], 0.2), tf.clip_by_value(g[1], -0.1, 0.1)] + clipped


@graph(f32(2, 6))
def jacobian_by_pfor(x):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.math.top_k(tf.sin(x) * tf.cumsum(x, 1), 3)[0]
        return tape.jacobian(y, x)
    return run(x)


@graph(f32(2, 3), np.float32(0.1))
@traced
def adaptive_steps(y, h):
    """Ends by its data."""
    t = tf.constant(0.0)
    n = tf.constant(0)
    while t < 1.0 and n < 200:
        h = tf.minimum(h, 1.0 - t)
        k1 = tf.sin(y) - y
        k2 = tf.sin(y + h * k1) - (y + h * k1)
        error = tf.reduce_max(tf.abs(k2 - k1)) * h / 2
        if error < 1e-3:
            y += h * (k1 + k2) / 2
            t += h
        h = h * tf.clip_by_value(0.9 * tf.sqrt(1e-3 / (error + 1e-9)), 0.3, 2.0)
        n += 1
    return [y, n]


@graph(f32(3, 4, 4), f32(3, 3, 4))
def einsum_diagonals(x, y):
    """Gradients of diagonals put them back: the result repeats a label."""
    sums = [tf.einsum("bii->bi", x), tf.einsum("bii->b", x), tf.einsum("iij->j", y),
            tf.einsum("bii,iij->bj", x[:, :3, :3], y)]
    return [pull_back(s, [x, y][k > 1]) for k, s in enumerate(sums[:3])] + pull_back(sums[3], [x, y])
