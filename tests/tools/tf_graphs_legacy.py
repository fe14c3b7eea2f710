"""Graphs with the loops and branches of TensorFlow 1, registered in tf_graph_registry.GRAPHS."""
import numpy as np
import tensorflow as tf

from tf_graph_registry import f32, graph, legacy, pull_back, s32, tf1


# --- loops of TensorFlow 1 ---
def lstm_cell(x, h, c, w, b):
    i, j, f, o = tf.split(tf.concat([x, h], 1) @ w + b, 4, 1)
    c = tf.sigmoid(f + 1) * c + tf.sigmoid(i) * tf.tanh(j)
    return tf.sigmoid(o) * tf.tanh(c), c


def lstm(x, w, b, lengths=None):
    """A loop with TensorArrays in and out, time first; rows stop at their lengths."""
    steps, batch, units = x.shape[0], x.shape[1], b.shape[0] // 4
    inputs = tf.TensorArray(tf.float32, steps).unstack(x)
    outputs = tf.TensorArray(tf.float32, steps)
    zero = tf.zeros([batch, units])

    def body(t, h, c, outputs):
        new_h, new_c = lstm_cell(inputs.read(t), h, c, w, b)
        if lengths is not None:
            runs = (t < lengths)[:, None]
            new_h, new_c = tf.where(runs, new_h, h), tf.where(runs, new_c, c)
        return t + 1, new_h, new_c, outputs.write(t, new_h)
    _, h, c, outputs = tf1.while_loop(lambda t, *_: t < steps, body, [0, zero, zero, outputs])
    return outputs.stack(), h, c


LSTM = (f32(6, 3, 4), f32(9, 20), f32(20))


@graph(*LSTM)
@legacy
def lstm_v1(x, w, b):
    return lstm(x, w, b)


@graph(*LSTM, s32(3, low=1, high=7))
@legacy
def lstm_v1_lengths(x, w, b, lengths):
    return lstm(x, w, b, lengths)


@graph(*LSTM, s32(3, low=1, high=7))
@legacy
def lstm_v1_gradients(x, w, b, lengths):
    y, h, _ = lstm(x, w, b, lengths)
    return [y] + pull_back(tf.reduce_sum(y * y) + tf.reduce_sum(h), [x, w, b])


@graph(*LSTM)
@legacy
def lstm_v1_two_layers_adam_step(x, w, b):
    y, _, _ = lstm(x, w, b)
    second = tf.concat([w[:5, :], w[:5, :] * 0.5], 0)
    z, _, _ = lstm(y, second, b)
    loss = tf.reduce_mean(tf.square(z - 0.1))
    g, gb = tf.gradients(loss, [w, b])
    m, v = 0.1 * g, 0.001 * g * g
    return [loss, w - 0.01 * (m / 0.1) / (tf.sqrt(v / 0.001) + 1e-3), gb]


@graph(f32(2, 4, 4), f32(4))
@legacy
def nested_loops_v1(a, x):
    def inner(j, y):
        return j + 1, tf.tanh(tf.linalg.matvec(a[0], y))

    def outer(i, y):
        _, y = tf1.while_loop(lambda j, _: j < i + 1, inner, [0, y])
        return i + 1, y * 1.5
    _, y = tf1.while_loop(lambda i, _: i < 4, outer, [0, x])
    return [y] + pull_back(y, [x])


@graph(f32(5), np.int32(3))
@legacy
def branch_in_loop_v1(x, n):
    def body(i, y):
        return i + 1, tf1.cond(tf.equal(i % 2, 0), lambda: tf.sin(y) * x,
                               lambda: tf1.cond(i > n, lambda: y + 1.0, lambda: tf.exp(-y * y)))
    _, y = tf1.while_loop(lambda i, _: i < 7, body, [0, x])
    return [y] + pull_back(y, [x])


@graph(f32(4, 5))
@legacy
def loop_in_branch_v1(x):
    def long():
        return tf1.while_loop(lambda i, _: i < 5, lambda i, y: (i + 1, tf.sin(y)), [0, x])[1]
    return [tf1.cond(tf.reduce_sum(x) > -100, long, lambda: x), tf1.cond(tf.reduce_sum(x) > 100, long, lambda: x * 2)]


@graph(f32(1, low=2, high=50))
@legacy
def newton_v1(x):
    """Ends by its data."""
    _, y = tf1.while_loop(lambda i, y: (tf.abs(y[0] * y[0] - x[0]) > 1e-3) & (i < 60), lambda i,
                          y: (i + 1, 0.5 * (y + x / y)), [0, x])
    return y


@graph(f32(6, 6))
@legacy
def power_iteration_v1(a):
    s = a @ tf.transpose(a)
    _, v = tf1.while_loop(lambda i, _: i < 12, lambda i, v: (i + 1, tf.math.l2_normalize(s @ v)), [0, tf.ones([6, 1])])
    return [v, tf.reduce_sum(v * (s @ v))]


@graph(f32(3, 8), f32(8, 8), f32(8, 5))
@legacy
def greedy_decoder_v1(embedding_of, w, out):
    """Each token is the largest output of the step before."""
    table = tf.tile(embedding_of, [2, 1])[:5]

    def body(t, state, token, tokens):
        state = tf.tanh(state @ w + tf.gather(table, token)[None])
        token = tf.argmax(state @ out, 1, output_type=tf.int32)[0]
        return t + 1, state, token, tokens.write(t, token)
    tokens = tf.TensorArray(tf.int32, 9)
    _, state, _, tokens = tf1.while_loop(lambda t, *_: t < 9, body, [0, tf.zeros([1, 8]), 0, tokens])
    return [tokens.stack(), state]


@graph(f32(7, 3))
@legacy
def map_scan_fold_v1(x):
    return [tf.map_fn(lambda r: tf.cumsum(r) * 2, x), tf.scan(lambda a, r: a * 0.5 + r, x),
            tf.foldl(lambda a, r: a * r + 1, x),
            tf.foldr(lambda a, r: tf.maximum(a, r), x), tf.map_fn(lambda r: (r[0], r + 1), x,
                                                                  fn_output_signature=(tf.float32, tf.float32))]


@graph(f32(4), np.int32(2))
@legacy
def case_v1(x, n):
    return tf1.case([(tf.equal(n, 0), lambda: tf.sin(x)), (tf.equal(n, 2), lambda: x * x)], default=lambda: tf.exp(x))


@graph(f32(5, 2, 3), f32(5, 8), f32(8))
@legacy
def bidirectional_v1(x, w, b):
    forward, _, _ = lstm(x, w, b)
    backward, _, _ = lstm(tf.reverse(x, [0]), w * 0.5, b)
    return tf.concat([forward, tf.reverse(backward, [0])], 2)


@graph(f32(6, 4))
@legacy
def growing_array_v1(x):
    def body(i, out):
        return i + 1, out.write(i, x[i % 6] * tf.cast(i, tf.float32))
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[4])
    _, out = tf1.while_loop(lambda i, _: i < 8, body, (0, array), maximum_iterations=8)
    y = out.stack()
    return [y] + pull_back(y, [x])


@graph(f32(3, 3), f32(3))
@legacy
def gradient_descent_in_loop_v1(a, b):
    def body(i, x):
        return i + 1, x - 0.1 * tf.gradients(tf.reduce_sum(tf.square(tf.linalg.matvec(a, x) - b)), x)[0]
    return tf1.while_loop(lambda i, _: i < 10, body, [0, b * 0.0])[1]


@graph(f32(4, 3), f32(3, 3), s32(4, high=3))
@legacy
def crf_forward_v1(emissions, transitions, tags):
    """Log-likelihood of a chain, and its gradients."""
    def body(t, alpha):
        return t + 1, tf.reduce_logsumexp(alpha[:, None] + transitions, 0) + emissions[t]
    _, alpha = tf1.while_loop(lambda t, _: t < 4, body, [1, emissions[0]])
    score = tf.reduce_sum(tf.gather_nd(emissions, tf.stack([tf.range(4), tags], 1)))
    score += tf.reduce_sum(tf.gather_nd(transitions, tf.stack([tags[:-1], tags[1:]], 1)))
    loss = tf.reduce_logsumexp(alpha) - score
    return [loss] + tf.gradients(loss, [emissions, transitions])
