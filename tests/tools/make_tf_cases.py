#!/usr/bin/env python3
"""Makes the cases of tests/cases/tf: small TensorFlow graphs (X.pb) with inputs and TensorFlow's results (X.npz).

    make_tf_cases.py FOLDER [NAME...]

Needs tensorflow-cpu; the cases are kept, so that the tests do not. A graph has a placeholder per input, in0, in1, ...,
and an Identity per result, which nothing else uses: these are the feeds and fetches that hlorun takes by itself."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
random = np.random.default_rng(7)
CASES = {}


def case(*inputs):
    """Registers a function of tensors that returns a tensor, a list or a dict of them."""
    def register(function):
        CASES[function.__name__] = (function, inputs)
        return function
    return register


def f32(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(np.float32)


def s32(*shape, low=-9, high=9):
    return random.integers(low, high, shape).astype(np.int32)


def flatten(results):
    return [tf.convert_to_tensor(r) for r in tf.nest.flatten(results)]


def write(name, folder):
    function, inputs = CASES[name]
    graph = tf.Graph()
    with graph.as_default():
        feeds = [tf1.placeholder(x.dtype, x.shape, "in%d" % i) for i, x in enumerate(inputs)]
        results = [tf.identity(r, "out%d" % i) for i, r in enumerate(flatten(function(*feeds)))]
    needed = [r.op.name for r in results]
    definition = tf1.graph_util.extract_sub_graph(graph.as_graph_def(), needed)
    # extract_sub_graph sorts nodes as they were made: results keep their order.
    unused = {f.op.name for f in feeds} - {n.name for n in definition.node}
    assert not unused, "inputs that no result uses: %s" % unused
    with tf1.Session(graph=graph) as session:
        values = session.run(results, dict(zip(feeds, inputs)))
    with open(os.path.join(folder, name + ".pb"), "wb") as file:
        file.write(definition.SerializeToString(deterministic=True))
    arrays = {"in%d" % i: x for i, x in enumerate(inputs)}
    arrays.update({"out%d" % i: v for i, v in enumerate(values)})
    np.savez(os.path.join(folder, name + ".npz"), **arrays)
    print(name, len(definition.node), "nodes")


@case(f32(2, 5, low=0.1, high=0.9))
def unary(x):
    ops = [tf.abs, tf.acos, tf.asin, tf.atan, tf.math.ceil, tf.cos, tf.cosh, tf.math.erf, tf.math.erfc, tf.exp,
           tf.math.expm1, tf.floor, tf.math.is_finite, tf.math.is_inf, tf.math.is_nan, tf.math.log, tf.math.log1p,
           tf.negative, tf.math.rint, tf.round, tf.math.rsqrt, tf.sigmoid, tf.sign, tf.sin, tf.sinh, tf.sqrt, tf.tan,
           tf.tanh, tf.square, tf.math.reciprocal, tf.math.lgamma, tf.math.digamma, tf.math.erfinv, tf.atanh, tf.asinh]
    return [op(x) for op in ops] + [tf.acosh(x + 1)]


@case(f32(3, 4))
def activations(x):
    return [tf.nn.relu(x), tf.nn.relu6(4 * x), tf.nn.elu(x), tf.nn.selu(x), tf.nn.softplus(x), tf.nn.softsign(x),
            tf.nn.leaky_relu(x, 0.3), tf.nn.softmax(x), tf.nn.log_softmax(x), tf.clip_by_value(x, -1.0, 0.5),
            tf.nn.gelu(x)]


@case(f32(2, 1, 4), f32(3, 1))
def binary(x, y):
    return [x + y, x - y, x * y, x / y, tf.maximum(x, y), tf.minimum(x, y), tf.atan2(x, y), tf.pow(tf.abs(x), y),
            tf.math.floordiv(x, y), tf.math.floormod(x, y), tf.math.squared_difference(x, y),
            tf.math.divide_no_nan(x, y), tf.math.multiply_no_nan(x, y), tf.math.xdivy(x, y),
            tf.math.xlogy(x, tf.abs(y)), tf.math.xlog1py(x, tf.abs(y)), x < y, x <= y, x > y, x >= y,
            tf.equal(x, y), tf.not_equal(x, y), tf.add_n([x, 2 * x, 3 * x]), tf.where(x < y, x, y)]


@case(s32(4, 3), s32(3, low=1, high=5))
def integers(x, y):
    return [x // y, x % y, tf.truncatediv(x, y), tf.truncatemod(x, y), tf.bitwise.bitwise_and(x, y),
            tf.bitwise.bitwise_or(x, y), tf.bitwise.bitwise_xor(x, y), tf.bitwise.invert(x),
            tf.bitwise.left_shift(x, y), tf.bitwise.right_shift(x, y), tf.cast(x, tf.float32), tf.cast(x, tf.bool),
            tf.cast(x, tf.int64), tf.cast(x, tf.int8), tf.abs(x), tf.sign(x), tf.reduce_max(x, 0), tf.reduce_min(x),
            tf.reduce_sum(x, 1), tf.reduce_prod(x, 1), tf.cumsum(x, 1, exclusive=True)]


@case(f32(3, 4, 2))
def reductions(x):
    return [tf.reduce_sum(x), tf.reduce_sum(x, [0, 2]), tf.reduce_mean(x, 1, keepdims=True), tf.reduce_max(x, -1),
            tf.reduce_min(x, [0]), tf.reduce_prod(x, 2), tf.reduce_all(x < 1.9, 1), tf.reduce_any(x > 1.9, 1),
            tf.argmax(x, 1), tf.argmin(x, 0, output_type=tf.int32), tf.nn.l2_loss(x), tf.norm(x, axis=1),
            tf.cumsum(x, 1), tf.cumsum(x, 0, reverse=True), tf.cumsum(x, 2, exclusive=True, reverse=True),
            tf.math.cumprod(x, 1), tf.raw_ops.EuclideanNorm(input=x, axis=[1])]


@case(f32(3, 4, 6))
def movement(x):
    return [tf.reshape(x, [2, -1]), tf.expand_dims(x, 1), tf.squeeze(tf.expand_dims(x, 0)), tf.transpose(x, [2, 0, 1]),
            tf.concat([x, x], 1), tf.stack([x, x], 1), tf.unstack(x, axis=1), tf.split(x, 3, axis=2),
            tf.split(x, [1, 2, -1], axis=2), tf.tile(x, [2, 1, 3]), tf.slice(x, [1, 0, 2], [1, 3, -1]), x[1:, ::2, ::-2],
            x[..., 3], x[:, tf.newaxis, -1], x[0, ..., 1:5:2], tf.pad(x, [[1, 0], [0, 2], [1, 1]]),
            tf.pad(x, [[1, 0], [0, 2], [1, 1]], constant_values=3.0), tf.pad(x, [[1, 1], [2, 0], [0, 3]], "REFLECT"),
            tf.pad(x, [[1, 1], [2, 0], [0, 3]], "SYMMETRIC"), tf.reverse(x, [0, -1]), tf.roll(x, [1, -2], [0, 2]),
            tf.broadcast_to(x[0], [2, 4, 6]), tf.zeros_like(x), tf.ones_like(x), tf.shape(x), tf.size(x), tf.rank(x),
            tf.fill(tf.shape(x)[:2], x[0, 0, 0]), tf.linspace(0.0, 1.0, 5) * x[0, 0, 0], tf.range(2, 14, 3)]


@case(f32(4, 4, 6, 8))
def blocks(x):
    return [tf.nn.space_to_depth(x, 2), tf.nn.depth_to_space(x, 2), tf.space_to_batch(x, [2, 3], [[0, 0], [1, 2]]),
            tf.batch_to_space(x, [2, 2], [[1, 0], [0, 2]])]


@case(f32(5, 3), s32(2, 2, low=0, high=5), s32(4, low=0, high=3))
def indexing(x, i, j):
    return [tf.gather(x, i), tf.gather(x, j, axis=1), tf.gather_nd(x, tf.stack([j, j % 3], 1)),
            tf.gather(tf.stack([x, 2 * x]), tf.stack([j, j + 1]), batch_dims=1, axis=1),
            tf.scatter_nd(tf.expand_dims(j, 1), x[:4], [6, 3]),
            tf.tensor_scatter_nd_update(x, [[1], [3]], x[:2]), tf.tensor_scatter_nd_add(x, tf.expand_dims(j, 1), x[1:]),
            tf.math.unsorted_segment_sum(x[:4], j, 3), tf.math.unsorted_segment_max(x[:4], [0, 1, 1, 2], 3),
            tf.one_hot(j, 4), tf.one_hot(i, 3, axis=1, on_value=2.0, off_value=-1.0), tf.math.top_k(x, 2)]


@case(f32(2, 4, 4))
def diagonals(x):
    return [tf.linalg.band_part(x, 1, 0), tf.linalg.band_part(x, -1, 1), tf.linalg.diag(x[0]), tf.linalg.diag_part(x)]


@case(f32(2, 3, 4), f32(2, 4, 5), f32(4, 5))
def products(x, y, z):
    return [tf.matmul(x, y), tf.matmul(x[0], z), tf.matmul(z, z, transpose_a=True), tf.matmul(z, z, transpose_b=True),
            tf.matmul(x, y[:1]), tf.matmul(y, y, adjoint_a=True), tf.einsum("bij,bjk->bik", x, y),
            tf.einsum("bij,jk->ikb", x, z), tf.einsum("bij->ji", x), tf.einsum("...ij,jk->...ik", x, z)]


@case(f32(2, 7, 6, 4), f32(3, 2, 4, 5), f32(3, 3, 4, 2))
def convolutions(x, k, d):
    return [tf.nn.conv2d(x, k, 1, "SAME"), tf.nn.conv2d(x, k, 2, "VALID"), tf.nn.conv2d(x, k, [1, 2, 1, 1], "SAME"),
            tf.nn.conv2d(x, k, 1, "VALID", dilations=2), tf.nn.conv2d(x, k, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]),
            tf.nn.depthwise_conv2d(x, d, [1, 1, 1, 1], "SAME"), tf.nn.depthwise_conv2d(x, d, [1, 2, 2, 1], "VALID"),
            tf.nn.max_pool2d(x, 2, 2, "VALID"), tf.nn.max_pool2d(x, 3, 2, "SAME"), tf.nn.avg_pool2d(x, 3, 2, "SAME"),
            tf.nn.bias_add(x, x[0, 0, 0])]


@case(f32(2, 3, 4, 5, 2), f32(2, 2, 2, 2, 3))
def volumes(x, k):
    return [tf.nn.conv3d(x, k, [1, 1, 1, 1, 1], "SAME"), tf.nn.max_pool3d(x, 2, 2, "SAME"),
            tf.nn.avg_pool3d(x, 2, 1, "VALID")]


@case(f32(3, 4, 4, 2), f32(2), f32(2, low=0.5))
def normalisation(x, mean, variance):
    norm = tf1.nn.fused_batch_norm
    return [norm(x, mean, variance, mean, variance, epsilon=0.01, is_training=False)[0],
            norm(x, mean, variance, epsilon=0.01)]


@case(f32(4, 3), f32(4, 3, low=0.1, high=1), s32(4, low=0, high=3))
def losses(x, p, c):
    return [tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(p), x),
            tf.nn.sparse_softmax_cross_entropy_with_logits(c, x), tf.nn.sigmoid_cross_entropy_with_logits(p, x)]


@case(f32(3, 4), f32(4, 5), f32(5))
def gradients(x, w, b):
    y = tf.nn.sigmoid(tf.nn.relu(tf.matmul(x, w) + b)) * tf.tanh(b) + tf.nn.elu(b) + tf.nn.softplus(b)
    loss = tf.reduce_mean(tf.square(y - tf.nn.softmax(y))) + tf.reduce_sum(tf.sqrt(tf.abs(w)) * 0.1)
    return tf.gradients(loss, [x, w, b]) + [loss]


@case(f32(3), np.int32(4))
def loops(x, n):
    def body(i, y, total):
        return i + 1, y * 1.5 + tf.cast(i, tf.float32), total + y
    with_count = tf.while_loop(lambda i, y, t: i < n, body, [0, x, tf.zeros_like(x)])
    chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1)
    switched = tf.switch_case(n % 3, [lambda: x, lambda: x + 1, lambda: -x])
    return [with_count, chosen, switched]


@case(f32(5, 2, 3))
def lists(x):
    def body(i, state, array):
        state = tf.tanh(state + array_in.read(i))
        return i + 1, state, array.write(i, state)
    array_in = tf.TensorArray(tf.float32, 5).unstack(x)
    out = tf.TensorArray(tf.float32, 5)
    _, last, out = tf.while_loop(lambda i, s, a: i < 5, body, [0, tf.zeros([2, 3]), out])
    return [last, out.stack()]


@case(f32(2, 3))
def calls(x):
    @tf.function
    def inner(y, k):
        return y * k, tf.reshape(y, [k, -1])

    @tf.function
    def outer(y):
        a, b = inner(y, 3)
        return a + 1, tf.transpose(b)
    return outer(x)


class Adam(tf.Module):
    """A dense layer: a prediction, and a step of training."""
    def __init__(self):
        self.w = tf.Variable(f32(4, 3), name="w")
        self.m = tf.Variable(tf.zeros([4, 3]), name="m")
        self.v = tf.Variable(tf.zeros([4, 3]), name="v")
        self.t = tf.Variable(0.0, name="t")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x"),
                                  tf.TensorSpec([None, 3], tf.float32, "y")])
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ self.w - y) ** 2)
        self.t.assign_add(1.0)
        tf.raw_ops.ResourceApplyAdam(
            var=self.w.handle, m=self.m.handle, v=self.v.handle, beta1_power=0.9 ** self.t,
            beta2_power=0.999 ** self.t, lr=0.1, beta1=0.9, beta2=0.999, epsilon=1e-7,
            grad=tape.gradient(loss, self.w))
        return {"loss": loss}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def predict(self, x):
        return {"y": x @ self.w}


def write_saved_model(folder):
    """FOLDER/adam: a SavedModel with predict.npz, a call of its first signature, and the losses of five steps."""
    path = os.path.join(folder, "adam")
    model, x, y = Adam(), f32(5, 4), f32(5, 3)
    tf.saved_model.save(model, path, signatures={"serving_default": model.predict, "step": model.step},
                        options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    np.savez(os.path.join(path, "predict.npz"), in0=x, out0=model.predict(x)["y"].numpy())
    losses = [float(model.step(x, y)["loss"]) for _ in range(5)]
    np.savez(os.path.join(path, "step.npz"), in0=x, in1=y, out0=np.float32(losses[-1]))
    print("adam", losses)


def main():
    tf1.enable_control_flow_v2()
    folder, names = sys.argv[1], sys.argv[2:]
    for name in names or CASES:
        if name in CASES:
            write(name, folder)
    if not names or "adam" in names:
        write_saved_model(folder)


main()
