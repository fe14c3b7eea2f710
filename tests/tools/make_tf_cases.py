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

import tf_user_graphs  # noqa: F401, registers its graphs in tf_graphs
import tf_user_functions  # noqa: F401, the same
import tf_user_sizes  # noqa: F401, the same
import tf_user_tasks  # noqa: F401, the same
from tf_graphs import GRAPHS, legacy

tf1 = tf.compat.v1
random = np.random.default_rng(7)
CASES = {name: GRAPHS[name] for name in ("triangle_of_loops", "triangle_of_loops_v1", "second_derivative_of_loop", "growing_array",
                                      "growing_array_by_size", "growing_array_gradient", "growing_array_that_is_read",
                                      "growing_array_v1_loop", "growing_array_v1_outside", "jacobian_by_pfor", "sizes_of_data",
                                      "masks_of_rows", "gradients_of_masks", "branches_of_sizes", "masks_of_other_bounds", "sizes_in_losses",
                                      "sizes_in_normalisations", "sizes_that_are_cut_again",
                                      "sizes_of_matrices", "sizes_in_loops",
                                      "gradients_of_sizes", "gradients_of_loops_over_sizes", "constants_of_branches",
                                      "limits_that_meet", "einsum_diagonals", "convolutions_along_sizes",
                                      "strided_windows_along_sizes", "paddings_by_sizes",
                                      "cond_in_foldl_in_map_gradient_v1", "three_maps_gradient_v1",
                                      "soft_warping_gradient", "segments")}
COMPILED = set()  # cases of operations that only XLA has
BOUNDED = {"stacks"}  # cases whose stacks are given a bound; others learn it from their loops


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


def pull_back(y, inputs):
    """Gradients with respect to the inputs, where y's is its cosine."""
    return tf.gradients(y, inputs, grad_ys=tf.cos(y))


def bound_stacks(definition):
    """Stacks of gradients are made without a bound outside XLA; compiled ones need it."""
    nodes = {n.name: n for n in definition.node}
    for node in definition.node:
        if node.op == "StackV2":
            nodes[node.input[0].split(":")[0]].attr["value"].tensor.int_val[:] = [9]


def write(name, folder):
    function, inputs = CASES[name]
    graph = tf.Graph()
    with graph.as_default():
        feeds = [tf1.placeholder(x.dtype, x.shape, "in%d" % i) for i, x in enumerate(inputs)]
        results = [tf.identity(r, "out%d" % i) for i, r in enumerate(flatten(function(*feeds)))]
    needed = [r.op.name for r in results]
    definition = tf1.graph_util.extract_sub_graph(graph.as_graph_def(), needed)
    if name in BOUNDED:
        bound_stacks(definition)
    # extract_sub_graph sorts nodes as they were made: results keep their order.
    unused = {f.op.name for f in feeds} - {n.name for n in definition.node}
    assert not unused, "inputs that no result uses: %s" % unused
    if name in COMPILED:
        values = [v.numpy() for v in tf.function(lambda *x: flatten(function(*x)), jit_compile=True)(*inputs)]
    else:
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


@case(s32(4, 3), s32(3, low=1, high=5), s32(40, 8))
def integers(x, y, z):
    return [x // y, x % y, tf.truncatediv(x, y), tf.truncatemod(x, y), tf.bitwise.bitwise_and(x, y),
            tf.bitwise.bitwise_or(x, y), tf.bitwise.bitwise_xor(x, y), tf.bitwise.invert(x),
            tf.bitwise.left_shift(x, y), tf.bitwise.right_shift(x, y), tf.cast(x, tf.float32), tf.cast(x, tf.bool),
            tf.cast(x, tf.int64), tf.cast(x, tf.int8), tf.abs(x), tf.sign(x), tf.reduce_max(x, 0), tf.reduce_min(x),
            tf.reduce_sum(x, 1), tf.reduce_prod(x, 1), tf.cumsum(x, 1, exclusive=True),
            tf.reduce_mean(z, 1), tf.raw_ops.EuclideanNorm(input=z, axis=[1])]


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


@case(f32(2, 7, 6, 4), f32(3, 2, 4, 6), f32(3, 3, 4, 2), f32(2, 3, 3, 2, 2), f32(2, 2, 2, 2, 3))
def convolution_gradients(x, k, d, v, w):
    losses = [tf.nn.conv2d(x, k, 1, "SAME"), tf.nn.conv2d(x, k, [1, 2, 3, 1], "SAME"),
              tf.nn.conv2d(x, k, 2, "VALID"), tf.nn.conv2d(x, k, 1, "VALID", dilations=2),
              tf.nn.conv2d(x, k, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]), tf.nn.conv2d(x, k[:, :, :2], 1, "SAME")]
    results = [g for y in losses for g in pull_back(y, [x, k])]
    for y in [tf.nn.depthwise_conv2d(x, d, [1, 1, 1, 1], "SAME"), tf.nn.depthwise_conv2d(x, d, [1, 2, 2, 1], "VALID")]:
        results += pull_back(y, [x, d])
    results += pull_back(tf.nn.conv3d(v, w, [1, 1, 2, 1, 1], "SAME"), [v, w])
    for y in [tf.nn.max_pool2d(x, 3, 2, "SAME"), tf.nn.avg_pool2d(x, 3, 2, "SAME"), tf.nn.avg_pool2d(x, 2, 2, "VALID")]:
        results += pull_back(y, [x])
    results += pull_back(tf.nn.avg_pool3d(v, 2, 1, "VALID"), [v])
    return results + [tf.raw_ops.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")]


@case(f32(2, 5, 4, 3, low=0, high=1))
def images(x):
    raw, results = tf.raw_ops, []
    for size in [[7, 9], [3, 2], [10, 4]]:
        for aligned, half in [(False, True), (False, False), (True, False)]:
            kind = {"align_corners": aligned, "half_pixel_centers": half}
            results += [raw.ResizeBilinear(images=x, size=size, **kind),
                        raw.ResizeNearestNeighbor(images=x, size=size, **kind)]
            results += pull_back(results[-2], [x])
            results += pull_back(results[-2], [x])
    return results + [tf.image.rgb_to_hsv(x), tf.image.hsv_to_rgb(x), tf.image.adjust_contrast(x, 0.6),
                      raw.AdjustSaturation(images=x, scale=1.4), raw.AdjustHue(images=x, delta=0.3)]


@case(np.array([7, 11], np.int32), np.array([-3, 1 << 40], np.int64))
def random_numbers(s, t):
    raw, results = tf.raw_ops, []
    for seed in [s, t]:
        for dtype in [tf.float32, tf.float64, tf.float16, tf.bfloat16]:
            results += [raw.StatelessRandomUniform(shape=[3, 5], seed=seed, dtype=dtype)]
        results += [raw.StatelessRandomNormal(shape=[3, 5], seed=seed, dtype=tf.float32),
                    raw.StatelessRandomNormal(shape=[7], seed=seed, dtype=tf.float64)]
        for dtype in [tf.int32, tf.int64]:
            results += [raw.StatelessRandomUniformInt(shape=[9], seed=seed, minval=tf.constant(-5, dtype),
                                                      maxval=tf.constant(1000, dtype))]
        results += [raw.StatelessRandomUniformFullInt(shape=[9], seed=seed, dtype=d) for d in
                    [tf.int32, tf.int64, tf.uint32, tf.uint64]]
        key, counter = raw.StatelessRandomGetKeyCounter(seed=seed)
        results += [key, counter, raw.StatelessRandomUniformV2(shape=[2, 3], key=key, counter=counter, alg=1),
                    raw.StatelessRandomNormalV2(shape=[2, 3], key=key, counter=counter, alg=1)]
    return results


@case(f32(2, 6, 8), f32(2, 3, 4, 6))
def transforms(x, y):
    c = tf.complex(x, x[:, ::-1])
    results = [tf.signal.fft(c), tf.signal.ifft(c), tf.signal.fft2d(c), tf.signal.ifft2d(c),
               tf.signal.rfft(x), tf.signal.rfft(x, [5]), tf.signal.rfft(x, [11]), tf.signal.rfft2d(x),
               tf.signal.irfft(c), tf.signal.irfft(c, [9]), tf.signal.irfft2d(c), tf.signal.rfft3d(y),
               tf.signal.fft3d(tf.complex(y, 2 * y)), tf.signal.ifft3d(tf.complex(y, 2 * y)),
               tf.signal.irfft3d(tf.complex(y, 2 * y))]
    return [part for z in results for part in ([tf.math.real(z), tf.math.imag(z)] if z.dtype.is_complex else [z])]


@case(f32(2, 4, 4), f32(2, 4, 3), f32(2, 5, 3))
def matrices(a, y, tall):
    spd = tf.matmul(a, a, transpose_b=True) + 3 * tf.eye(4)
    q, r = tf.linalg.qr(tall)
    full, upper = tf.linalg.qr(tall, full_matrices=True)
    raw = tf.raw_ops
    return [tf.linalg.cholesky(spd), tf.linalg.triangular_solve(spd, y), tf.linalg.inv(spd), tf.linalg.inv(spd, adjoint=True),
            tf.linalg.triangular_solve(spd, y, lower=False, adjoint=True), tf.linalg.solve(spd, y),
            tf.linalg.solve(a, y, adjoint=True), tf.matmul(q, r), tf.abs(r), tf.matmul(full, upper),
            raw.TridiagonalMatMul(superdiag=a[:, :1], maindiag=a[:, 1:2], subdiag=a[:, 2:3], rhs=y)]


@case(f32(3), np.int32(4), f32(5, 2, 3))
@legacy
def frames(x, n, sequence):
    def outer(i, y):
        _, inner = tf1.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * 0.5 + x), [0, y])
        return i + 1, tf1.cond(tf.reduce_sum(inner) > 1, lambda: inner - 1, lambda: inner * 2 + 1)
    nested = tf1.while_loop(lambda i, y: i < n, outer, [0, x])
    shaped = tf1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.reshape(y, [3]) + x), [0, tf.zeros([3])])
    chosen = tf1.cond(tf.reduce_sum(x) > 0, lambda: [x * 2, tf.constant([1.0])], lambda: [x - 1, tf.constant([2.0])])
    known = tf1.cond(tf.constant(True), lambda: x + 1, lambda: tf.reshape(x, [3, 1])[:, 0])
    inside = tf1.cond(n > 9, lambda: tf1.while_loop(lambda i: i < n, lambda i: i + 1, [0]), lambda: n * 2)
    deep = tf1.cond(n > 1, lambda: tf1.cond(n > 3, lambda: x + 3, lambda: x + 1), lambda: x)
    source = tf.TensorArray(tf.float32, 5, clear_after_read=False).unstack(sequence)

    def step(i, state, out):
        state = tf.tanh(state + source.read(i))
        return i + 1, state, out.write(i, state)
    _, last, out = tf1.while_loop(lambda i, s, a: i < 5, step, [0, tf.zeros([2, 3]), tf.TensorArray(tf.float32, 5, clear_after_read=False)])
    parts = tf.TensorArray(tf.float32, 3).split(sequence[0, 0] * 2, [1, 1, 1])
    return [nested, shaped, chosen, known, inside, deep, last, out.stack(), out.gather([3, 1]), out.concat(), parts.stack(),
            pull_back(source.gather([2, 0, 2]), [sequence])]


@case(s32(2, 6, low=0, high=4), f32(2, 6), f32(2, 5, 4, 2), f32(3, 3), np.array([2, 5], np.int32))
def searches(i, x, image, v, lengths):
    raw, s = tf.raw_ops, tf.sort(x, axis=1)
    return [raw.Bincount(arr=i, size=5, weights=x), raw.Bincount(arr=i, size=3, weights=tf.zeros([0], tf.int32)),
            raw.DenseBincount(input=i, size=4, weights=x, binary_output=False),
            raw.DenseBincount(input=i, size=5, weights=tf.zeros([0]), binary_output=True),
            raw.LowerBound(sorted_inputs=s, values=s[:, ::2]), raw.UpperBound(sorted_inputs=s, values=s[:, ::2] + 0.1),
            raw.Bucketize(input=x, boundaries=[-1.0, 0.0, 0.5]), raw.InTopKV2(predictions=x, targets=i[:, 0], k=2),
            tf.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0),
            tf.reverse_sequence(image, [1, 3, 4, 0], seq_axis=1, batch_axis=2),
            tf.dynamic_stitch([[0, 3], [[2], [1]]], [v[:2], tf.reshape(v[1:], [2, 1, 3])]),
            raw.SparseToDense(sparse_indices=[[0, 1], [2, 0]], output_shape=[3, 2], sparse_values=x[0, :2], default_value=9.0),
            raw.PopulationCount(x=i),
            tf.linalg.set_diag(v, x[0, :3]), raw.Diag(diagonal=v), raw.DiagPart(input=v), tf.linalg.cross(v, v[::-1]),
            raw.ExtractImagePatches(images=image, ksizes=[1, 2, 3, 1], strides=[1, 2, 1, 1], rates=[1, 1, 1, 1], padding="SAME"),
            raw.ExtractImagePatches(images=image, ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 2, 1, 1], padding="VALID"),
            tf.nn.lrn(image, 1, 0.5, 0.3, 0.7), pull_back(tf.nn.lrn(image, 1, 0.5, 0.3, 0.7), [image]),
            raw.DataFormatDimMap(x=i), raw.DataFormatVecPermute(x=tf.reshape(i[0, :4], [4]))]


@case(f32(3, 4, 5), f32(3, 5, 2), s32(2, 3, low=0, high=4), f32(6))
def xla_operations(x, y, i, v):
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla
    from tensorflow.compiler.xla import xla_data_pb2
    dims = xla_data_pb2.DotDimensionNumbers(lhs_batch_dimensions=[0], rhs_batch_dimensions=[0],
                                            lhs_contracting_dimensions=[2], rhs_contracting_dimensions=[1])
    gather = xla_data_pb2.GatherDimensionNumbers(offset_dims=[1, 2], collapsed_slice_dims=[1], start_index_map=[0, 1],
                                                 index_vector_dim=1)
    scatter = xla_data_pb2.ScatterDimensionNumbers(update_window_dims=[1], inserted_window_dims=[0, 1],
                                                   scatter_dims_to_operand_dims=[0, 1], index_vector_dim=1)

    def scalars(function, *types):
        return tf.function(function).get_concrete_function(*[tf.TensorSpec([], t) for t in types])
    add = scalars(lambda a, b: a + b, tf.float32, tf.float32)
    ge = scalars(lambda a, b: a >= b, tf.float32, tf.float32)
    pair = scalars(lambda a, b, c, d: (a + c, b * d), *[tf.float32] * 4)
    greater = scalars(lambda a, b, c, d: a > b, *[tf.float32] * 4)
    keys, values = xla.xla_key_value_sort(v, v * 2)
    helped = xla.xla_broadcast_helper(x, v[:4], [1])
    return [xla.xla_dot(x, y, dims.SerializeToString(), b""), xla.xla_dot_v2(x, y, dims.SerializeToString(), b"", tf.float32),
            xla.xla_gather(x, i[:, :2] % 3, [2, 1, 5], gather.SerializeToString(), False),
            xla.xla_scatter(x, i[:, :2] % 3, x[:2, 0], add, scatter.SerializeToString(), False),
            xla.xla_dynamic_slice(x, i[0] % 2, [2, 3, 1]), xla.xla_dynamic_update_slice(x, x[:1, :2, :2], i[1]),
            xla.xla_pad(x, 1.5, [1, 0, -1], [0, 2, 0], [0, 1, 0]), xla.xla_reduce(x, 0.0, [0, 2], add),
            xla.xla_variadic_reduce_v2([x, x], [0.0, 1.0], [1], pair),
            xla.xla_reduce_window(x, 0.0, [1, 2, 2], [1, 1, 2], [1, 1, 1], [1, 2, 1], [[0, 0], [1, 0], [0, 1]], add),
            xla.xla_select_and_scatter(x, [1, 2, 2], [1, 2, 2], [[0, 0], [0, 0], [0, 0]], x[:, :2, :2], 0.0, ge, add),
            xla.xla_sort(x), keys, values, xla.xla_variadic_sort([x, -x], 1, greater, True),
            xla.xla_einsum(x, y, "abc,acd->bad"), helped[0] + helped[1], xla.xla_optimization_barrier([x, y])]


COMPILED.add("xla_operations")


@case(f32(3, 5), f32(3, 5), f32(2, 4, 4, 2), f32(5, 6))
def rounding(x, y, image, edges):
    raw, results = tf.raw_ops, []
    low, high = [-1.0, -0.5, -2.0, -1.5, 0.0], [1.0, 0.7, 1.0, 2.0, 1.5]
    for bits, narrow in [(8, False), (4, True)]:
        kind = {"num_bits": bits, "narrow_range": narrow}
        results += [raw.FakeQuantWithMinMaxArgs(inputs=x, min=-1.3, max=1.1, **kind),
                    raw.FakeQuantWithMinMaxVars(inputs=x, min=-1.3, max=1.1, **kind),
                    raw.FakeQuantWithMinMaxVarsPerChannel(inputs=x, min=low, max=high, **kind),
                    raw.FakeQuantWithMinMaxArgsGradient(gradients=y, inputs=x, min=-1.3, max=1.1, **kind),
                    list(raw.FakeQuantWithMinMaxVarsGradient(gradients=y, inputs=x, min=-1.3, max=1.1, **kind)),
                    list(raw.FakeQuantWithMinMaxVarsPerChannelGradient(gradients=y, inputs=x, min=low, max=high, **kind))]
    for signed, given, mode in [(True, False, "HALF_TO_EVEN"), (True, True, "HALF_UP"), (False, True, "HALF_TO_EVEN")]:
        kind = {"signed_input": signed, "range_given": given, "input_min": 0.0 if not signed else -1.0, "input_max": 1.2}
        results += [raw.QuantizeAndDequantizeV2(input=x, num_bits=5, round_mode=mode, **kind),
                    raw.QuantizeAndDequantizeV3(input=x, num_bits=4, **kind),
                    raw.QuantizeAndDequantizeV4(input=x, num_bits=6, round_mode=mode, **kind)]
    blocks = raw.SpaceToBatch(input=image, paddings=[[0, 0], [1, 1]], block_size=2)
    results += [blocks, raw.BatchToSpace(input=blocks, crops=[[0, 0], [1, 1]], block_size=2), tf.math.ndtri(tf.sigmoid(x)),
                tf.math.nextafter(tf.cast(x, tf.float64), tf.cast(y, tf.float64)), tf.math.nextafter(x * 0, y), raw.ToBool(input=x[0, 0])]
    for mode in ["REFLECT", "SYMMETRIC"]:
        results += [raw.MirrorPadGrad(input=edges, paddings=[[1, 1], [0, 2]], mode=mode)]
    return results + [raw.TensorStridedSliceUpdate(input=x, begin=[1, 4], end=[3, 1], strides=[1, -1], value=y[:2, :3])]


@case(f32(3, 4), f32(3, 4, low=0.5), s32(4, low=0, high=3), f32(2, 4, 4, 3), f32(2, 3, 4, 4, 2))
def older_names(x, y, i, image, volume):
    """Operations whose newer forms have cases of their own."""
    raw, c = tf.raw_ops, tf.complex(x, y)
    b, scale = x > y, y[0, :3]
    new, mean, variance, first, second = raw.FusedBatchNorm(x=image, scale=scale, offset=scale, mean=[], variance=[])
    third = raw.FusedBatchNormV3(x=image, scale=scale, offset=scale, mean=[], variance=[])
    listed = raw.TensorListFromTensor(tensor=x, element_shape=[4])
    grown = raw.TensorListPushBack(input_handle=raw.EmptyTensorList(element_shape=[4], max_num_elements=3, element_dtype=tf.float32),
                                   tensor=x[0])
    popped, last = raw.TensorListPopBack(input_handle=raw.TensorListPushBack(input_handle=grown, tensor=x[1]), element_shape=[4],
                                         element_dtype=tf.float32)
    seed = tf.constant([3, 9])
    key, counter = raw.StatelessRandomGetKeyCounter(seed=seed)
    pool = raw.MaxPool(input=image, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    pool3 = raw.MaxPool3D(input=volume, ksize=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID")
    return [raw.Add(x=x, y=y), raw.Angle(input=c), raw.ApproximateEqual(x=x, y=y, tolerance=0.5), raw.BatchMatMul(x=volume, y=volume, adj_x=True),
            raw.BatchMatMulV3(x=volume, y=volume, Tout=tf.float32, adj_y=True), raw.BesselI1e(x=x), raw.BiasAddGrad(out_backprop=image),
            raw.BiasAddV1(value=image, bias=scale), raw.Bitcast(input=x, type=tf.int32), raw.CheckNumerics(tensor=x, message=""),
            raw.ClipByValue(t=x, clip_value_min=-1.0, clip_value_max=0.5), raw.ComplexAbs(x=c), raw.Concat(concat_dim=1, values=[x, y]),
            list(raw.ConcatOffset(concat_dim=1, shape=[[2, 3], [2, 4]])), raw.Real(input=raw.Conj(input=c)),
            raw.Imag(input=raw.ConjugateTranspose(x=c, perm=[1, 0])), raw.Div(x=x, y=y), raw.Div(x=i, y=i + 2), new, mean, variance,
            list(raw.FusedBatchNormGrad(y_backprop=tf.cos(image), x=image, scale=scale, reserve_space_1=first, reserve_space_2=second))[:3],
            list(raw.FusedBatchNormGradV3(y_backprop=tf.cos(image), x=image, scale=scale, reserve_space_1=third[3], reserve_space_2=third[4],
                                          reserve_space_3=third[5], is_training=False))[:3],
            raw.Gather(params=x, indices=i), raw.Inv(x=y), raw.InvGrad(y=x, dy=y), raw.InvertPermutation(x=[2, 0, 1]) + i[:3],
            raw.LeakyReluGrad(gradients=y, features=x), raw.LinSpace(start=0.5, stop=2.0, num=4) * x, raw.LogicalNot(x=b),
            raw.LogicalOr(x=b, y=x > 0), raw.MatrixDiag(diagonal=x), raw.MatrixDiagPart(input=x), raw.MatrixSetDiag(input=x, diagonal=y[:, 0]),
            raw.MaxPool3DGrad(orig_input=volume, orig_output=pool3, grad=tf.cos(pool3), ksize=[1, 2, 2, 2, 1], strides=[1] * 5, padding="VALID"),
            raw.MaxPoolGradV2(orig_input=image, orig_output=pool, grad=tf.cos(pool), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
            raw.Mod(x=i, y=i + 2), raw.OnesLike(x=x), raw.ZerosLike(x=x), raw.ParallelDynamicStitch(indices=[[1, 0], [2]], data=[x[:2], x[2:]]),
            raw.PlaceholderWithDefault(input=x, shape=[3, 4]), raw.Polygamma(a=tf.ones_like(y), x=y), raw.Zeta(x=y + 1.5, q=y),
            raw.PreventGradient(input=x), raw.Rank(input=x), raw.Size(input=x), raw.ReciprocalGrad(y=x, dy=y), raw.Relu6Grad(gradients=y, features=4 * x),
            raw.Reverse(tensor=x, dims=[True, False]), raw.RsqrtGrad(y=x, dy=y), raw.SeluGrad(gradients=y, outputs=x), raw.Snapshot(input=x),
            raw.SoftplusGrad(gradients=y, features=x), raw.SoftsignGrad(gradients=y, features=x), raw.SparseMatMul(a=x, b=y, transpose_b=True),
            raw.StatelessRandomUniformIntV2(shape=[5], key=key, counter=counter, alg=1, minval=2, maxval=90),
            raw.StatelessRandomUniformFullIntV2(shape=[5], key=key, counter=counter, alg=1, dtype=tf.uint64),
            raw.TensorScatterMax(tensor=x, indices=[[1], [0]], updates=y[:2]), raw.TensorScatterMin(tensor=x, indices=[[1], [0]], updates=-y[:2]),
            raw.TensorScatterSub(tensor=x, indices=[[1], [1]], updates=y[:2]),
            raw.UnsortedSegmentMin(data=x[0], segment_ids=i, num_segments=3)[:0], raw.UnsortedSegmentProd(data=x[0], segment_ids=i, num_segments=3),
            raw.TensorListGather(input_handle=listed, indices=[2, 0], element_shape=[4], element_dtype=tf.float32),
            raw.TensorListLength(input_handle=listed), raw.TensorListElementShape(input_handle=listed, shape_type=tf.int32), last,
            raw.TensorListGetItem(input_handle=popped, index=0, element_shape=[4], element_dtype=tf.float32)]


@case(f32(4, 5, low=0.1, high=6), f32(4, 5, low=0.1, high=9), f32(4, 5, low=0.05, high=0.95))
def special_functions(a, x, p):
    raw, results = tf.raw_ops, []
    for dtype in [tf.float32, tf.float64]:
        b, y, q = tf.cast(a, dtype), tf.cast(x, dtype), tf.cast(p, dtype)
        results += [raw.BesselI0e(x=y - 4), raw.Betainc(a=b, b=y, x=q), raw.Igamma(a=b, x=y), raw.Igammac(a=b, x=y),
                    raw.IgammaGradA(a=b, x=y), raw.RandomGammaGrad(alpha=b, sample=y)]
    edges = tf.constant([0.0, 0.0, 1e-3, 30.0, 2.5, -1.0, 1.0])
    return results + [raw.Igamma(a=edges, x=edges[::-1]), raw.Igammac(a=[1.0, 2.0, 50.0], x=[0.0, 1e-4, 60.0]),
                      raw.Betainc(a=[1.0, 2.0, 0.5], b=[2.0, 3.0, 40.0], x=[0.0, 1.0, 0.01]), raw.BesselI0e(x=[0.0, 8.0, 8.1, 100.0, -3.0])]


@case(f32(3, 4), s32(9, low=0, high=4), s32(4, 2, low=0, high=2), f32(9, 2))
def varying_sizes(x, i, rows, data):
    raw = tf.raw_ops
    unique, where = raw.Unique(x=i), raw.UniqueV2(x=rows, axis=[0])
    known = raw.Where(condition=tf.constant([[1, 0], [2, 3]]))
    diff = raw.ListDiff(x=i, y=i[:2])
    return [raw.Where(condition=x > 0), raw.Where(condition=i), unique.y, unique.idx, where.y, where.idx,
            raw.UniqueV2(x=i, axis=tf.zeros([0], tf.int32), out_idx=tf.int64).idx, diff.out, diff.idx, known + tf.cast(i[0], tf.int64),
            raw.UniqueV2(x=rows, axis=[1]).idx] + raw.DynamicPartition(data=data, partitions=i, num_partitions=4)


@case(np.sort(f32(8, 2, 2, low=0, high=1), axis=1).reshape(8, 4)[:, [0, 1, 2, 3]], f32(8, low=0, high=1))
def suppression(boxes, scores):
    raw = tf.raw_ops
    v4 = [raw.NonMaxSuppressionV4(boxes=boxes, scores=scores, max_output_size=n, iou_threshold=t, score_threshold=0.2,
                                  pad_to_max_output_size=True) for n, t in [(3, 0.1), (10, 0.5)]]
    return [list(v) for v in v4] + [raw.NonMaxSuppressionV3(boxes=boxes, scores=scores, max_output_size=5, iou_threshold=t,
                                                            score_threshold=0.1) for t in [0.05, 0.3]]


@case(np.random.default_rng(3).integers(-128, 128, (3, 4)).astype(np.int8),
      np.random.default_rng(4).integers(-128, 128, (4, 5)).astype(np.int8), f32(3, 4), f32(3, 4))
def quantised(x, y, z, w):
    raw, f = tf.raw_ops, tf.constant
    q = lambda v, t: raw.UniformQuantize(input=v, scales=f(0.03), zero_points=f(3), Tout=t, quantization_min_val=-128,
                                         quantization_max_val=127)
    a, b = tf.bitcast(x, tf.qint8), tf.bitcast(y, tf.qint8)
    big = lambda v: raw.UniformQuantize(input=v, scales=f(1e-4), zero_points=f(7), Tout=tf.qint32, quantization_min_val=-2**31,
                                        quantization_max_val=2**31 - 1)
    bits = lambda v: tf.bitcast(v, tf.int8 if v.dtype == tf.qint8 else tf.int32)
    dot = raw.UniformQuantizedDot(lhs=a, rhs=b, lhs_scales=f(0.02), lhs_zero_points=f(2), rhs_scales=f(0.01), rhs_zero_points=f(-1),
                                  output_scales=f(0.001), output_zero_points=f(5), Tout=tf.qint32, lhs_quantization_min_val=-128,
                                  lhs_quantization_max_val=127, rhs_quantization_min_val=-128, rhs_quantization_max_val=127,
                                  output_quantization_min_val=-2**31, output_quantization_max_val=2**31 - 1)
    image, kernel = tf.reshape(a, [1, 2, 3, 2]), tf.reshape(b, [5, 2, 2, 1])
    conv = raw.UniformQuantizedConvolution(
        lhs=image, rhs=kernel, lhs_scales=f(0.02), lhs_zero_points=f(2), rhs_scales=f(0.01), rhs_zero_points=f(0), output_scales=f(0.001),
        output_zero_points=f(5), Tout=tf.qint32, padding="SAME", window_strides=[1, 1], lhs_quantization_min_val=-128,
        lhs_quantization_max_val=127, rhs_quantization_min_val=-128, rhs_quantization_max_val=127,
        output_quantization_min_val=-2**31, output_quantization_max_val=2**31 - 1)
    add = raw.UniformQuantizedAdd(lhs=big(z), rhs=big(w), lhs_scales=f(1e-4), lhs_zero_points=f(7), rhs_scales=f(1e-4), rhs_zero_points=f(7),
                                  output_scales=f(2e-4), output_zero_points=f(-3), lhs_quantization_min_val=-2**31,
                                  lhs_quantization_max_val=2**31 - 1, rhs_quantization_min_val=-2**31, rhs_quantization_max_val=2**31 - 1,
                                  output_quantization_min_val=-2**31, output_quantization_max_val=2**31 - 1)
    per_axis = raw.UniformQuantize(input=z, scales=[0.01, 0.02, 0.04], zero_points=[0, 1, 2], Tout=tf.qint8, quantization_axis=0,
                                   quantization_min_val=-127, quantization_max_val=127)
    again = raw.UniformRequantize(input=q(z, tf.qint8), input_scales=f(0.03), input_zero_points=f(3), output_scales=f(0.05),
                                  output_zero_points=f(-2), Tout=tf.qint8, input_quantization_min_val=-128, input_quantization_max_val=127,
                                  output_quantization_min_val=-128, output_quantization_max_val=127)
    clip = raw.UniformQuantizedClipByValue(operand=big(z), min=tf.bitcast(f(-5000), tf.qint32), max=tf.bitcast(f(9000), tf.qint32),
                                           scales=f(1e-4), zero_points=f(7), quantization_min_val=-2**31, quantization_max_val=2**31 - 1)
    results = [bits(q(z, tf.qint8)), bits(per_axis), bits(again), bits(dot), bits(conv), bits(add), bits(clip),
               raw.UniformDequantize(input=a, scales=f(0.02), zero_points=f(2), Tout=tf.float32, quantization_min_val=-128,
                                     quantization_max_val=127)]
    for mode in ["MIN_COMBINED", "MIN_FIRST", "SCALED"]:
        results += [raw.Dequantize(input=a, min_range=-1.5, max_range=2.0, mode=mode),
                    raw.Dequantize(input=tf.bitcast(tf.bitcast(y, tf.uint8), tf.quint8), min_range=0.0, max_range=2.0, mode=mode)]
    return results


@case(f32(2, 5, 5), f32(2, 5, 3), f32(2, 3, 6), f32(2, 3, 2, low=1, high=3))
def spectra(a, tall, diagonals, y):
    raw = tf.raw_ops
    symmetric = a + tf.transpose(a, [0, 2, 1])
    e, v = raw.SelfAdjointEigV2(input=symmetric)
    s, u, w = raw.Svd(input=tall)
    t, p, q = raw.Svd(input=tall, full_matrices=True)
    diagonals = tf.concat([diagonals[:, :1], 8 + diagonals[:, 1:2], diagonals[:, 2:]], 1)
    right = tf.tile(y, [1, 2, 1])
    return [e, raw.SelfAdjointEigV2(input=symmetric, compute_v=False).e, tf.matmul(v * e[:, None], v, transpose_b=True), s, t,
            tf.matmul(u * s[:, None], w, transpose_b=True), tf.matmul(p, p, transpose_a=True), tf.matmul(q, q, transpose_b=True),
            raw.Svd(input=tf.transpose(tall, [0, 2, 1]), compute_uv=False).s,
            raw.TridiagonalSolve(diagonals=diagonals, rhs=right, partial_pivoting=True),
            raw.TridiagonalSolve(diagonals=diagonals, rhs=right, partial_pivoting=False)]


@case(f32(2, 6, 8, 4), f32(3, 2, 4, 6), f32(6), f32(4, 5), f32(2, 4, 4, 6, 2))
def fused(x, k, b, m, volume):
    raw = tf.raw_ops
    pool = raw.MaxPool(input=x, ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1], padding="SAME")
    pool3 = raw.MaxPool3D(input=volume, ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 1, 1], padding="VALID")
    conv = {"strides": [1, 1, 2, 1], "padding": "SAME", "data_format": "CHANNELS_LAST"}
    kind = {"ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}
    results = [raw.Conv(input=x, filter=k, **conv), raw.MaxPoolGradGrad(orig_input=x, orig_output=pool, grad=tf.cos(x), **kind),
               raw.MaxPoolGradGradV2(orig_input=x, orig_output=pool, grad=tf.cos(x), **kind),
               raw.MaxPool3DGradGrad(orig_input=volume, orig_output=pool3, grad=tf.cos(volume), ksize=[1, 2, 2, 2, 1],
                                     strides=[1, 2, 2, 1, 1], padding="VALID")]
    from tensorflow.python.framework.op_def_library import apply_op
    for parts, args in [(["BiasAdd"], [b]), (["BiasAdd", "Relu"], [b]), (["FusedBatchNorm", "Relu6"], [b, b * b, b - 1, b * b + 1])]:
        results += [apply_op("_FusedConv2D", name="conv", input=x, filter=k, args=args, host_args=[], num_args=len(args), explicit_paddings=[], data_format="NHWC",
                             filter_format="HWIO", dilations=[1, 1, 1, 1], use_cudnn_on_gpu=False, leakyrelu_alpha=0.2, strides=[1, 2, 1, 1], padding="SAME",
                             fused_ops=parts, epsilon=0.01)]
    results += [apply_op("_FusedMatMul", name="product", a=m, b=m, args=[m[:, 0]], transpose_a=False, transpose_b=True, fused_ops=["BiasAdd", "LeakyRelu"],
                         epsilon=0.0, leakyrelu_alpha=0.3),
                apply_op("_UnaryOpsComposition", name="composed", x=m, op_names=["Tanh", "Square", "Neg"])]
    for exclusive in [False, True]:
        for reverse in [False, True]:
            results += [raw.CumulativeLogsumexp(x=m, axis=1, exclusive=exclusive, reverse=reverse)]
    return results + [tf.bitcast(raw.StatelessMultinomial(logits=m, num_samples=5, seed=[3, 8], output_dtype=tf.int32), tf.int32)]


@case(f32(5), f32(2, 3), np.int32(4))
@legacy
def stacks(x, y, n):
    def body(i, z):
        return [i + 1, tf.sin(z) * x]
    _, out = tf1.while_loop(lambda i, z: i < 6, body, [0, x * 2], maximum_iterations=6)
    _, other = tf1.while_loop(lambda i, z: i < n, lambda i, z: [i + 1, tf.tanh(z @ tf.transpose(y)) @ y], [0, y], maximum_iterations=9)
    return [out, pull_back(out, [x]), pull_back(other, [y])]


@case(f32(3, 5, 4), f32(4, 3), f32(3, 3), f32(5, 3), np.array([2, 5, 0], np.int32))
@legacy
def frame_gradients(x, w, u, y, lengths):
    """Loops without a bound: a recurrent network that stops at each row's length, branches and loops in loops."""
    source = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(x, [1, 0, 2]))

    def step(i, state, out):
        new = tf.tanh(source.read(i) @ w + state @ u)
        new = tf1.cond(i >= tf.reduce_max(lengths), lambda: state, lambda: tf.where((i >= lengths)[:, None], state, new))
        return i + 1, new, out.write(i, new)
    _, last, out = tf1.while_loop(lambda i, s, a: i < 5, step, [0, tf.zeros([3, 3]), tf.TensorArray(tf.float32, 5)])
    states = out.stack()

    def choose(i, z):
        z = tf1.cond(tf.equal(i % 2, 0), lambda: z + y[i], lambda: tf1.cond(tf.reduce_sum(z) > 0, lambda: z * y[-i], lambda: z - 1))
        return i + 1, z
    _, chosen = tf1.while_loop(lambda i, z: i < 5, choose, [0, tf.zeros([3])])

    def outer(i, z):
        _, z = tf1.while_loop(lambda j, v: j < 2, lambda j, v: [j + 1, tf.tanh(v @ u)], [0, z])
        return [i + 1, z]
    _, deep = tf1.while_loop(lambda i, z: i < 3, outer, [0, y])
    return [last, states, chosen, deep, pull_back(states, [x, w, u]), pull_back(chosen, [y]), pull_back(deep, [y, u])]


@case(f32(5, 3), f32(4, 3, 3), f32(3))
def branch_gradients(x, matrices, y):
    """Gradients of branches, which hand values over as optionals, also in loops; loops without a bound; lists of
    lists."""
    @tf.function
    def alternate(x, z):
        for i in tf.range(5):
            z = z - x[i] if tf.reduce_sum(z) > 0.5 else z + tf.sin(x[i, ::-1]) * z
        return z

    @tf.function
    def leave(x):
        s = tf.constant(0.0)
        for i in tf.range(10):
            s += tf.reduce_sum(x) * tf.cast(i, tf.float32)
            if s > 3 or s < -3:
                break
            if i % 2 == 0:
                continue
            s *= 0.5
        return s

    @tf.function
    def nested(z):
        i = tf.constant(0)
        while i < 3:
            for j in tf.range(2):
                z = tf.sin(z) * y[j]
            i += 1
        return z

    @tf.function
    def conditional_loop(z):
        if tf.reduce_sum(z) > -100:
            for _ in tf.range(3):
                z = tf.sin(z) * 2
        return z
    results = [alternate(x, y), leave(y), nested(y), conditional_loop(y), tf.map_fn(lambda m: tf.matmul(m, m), matrices),
               tf.scan(lambda a, e: a * 0.5 + tf.sin(e), x), tf.cond(y[0] > 0, lambda: tf.sin(y) * y, lambda: tf.exp(y)),
               tf.switch_case(tf.cast(y[0] * 2, tf.int32), [lambda: tf.sin(y), lambda: y * y, lambda: tf.exp(y)])]
    return results + [pull_back(results[0], [x, y])] + [pull_back(r, [y]) for r in results[1:4] + results[6:]] + [
        pull_back(results[4], [matrices]), pull_back(results[5], [x])]


@case(f32(3, 4), f32(4, 2), f32(3, 2))
def symbolic_gradient(x, w, g):
    from tensorflow.python.framework import function

    @function.Defun(tf.float32, tf.float32)
    def layer(a, b):
        y = tf.nn.softmax(tf.matmul(a, b)) + tf.reduce_sum(tf.sigmoid(a), 1, keepdims=True)
        z = tf.concat([tf.exp(y[:, :1]) / 2, tf.sqrt(y[:, 1:] + 3)], 1)
        return z * tf.maximum(z, 1.2) + tf.math.pow(z, 2.5) - tf.transpose(b)[:1, :2]

    @function.Defun(tf.float32, tf.float32, tf.float32)
    def own_gradient(a, b, dy):
        return dy @ tf.transpose(b) * 3, tf.transpose(a) @ dy

    @function.Defun(tf.float32, tf.float32, grad_func=own_gradient)
    def product(a, b):
        return a @ b
    layer(x, w), product(x, w)
    raw = lambda f: tf.raw_ops.SymbolicGradient(input=[x, w, g], Tout=[tf.float32, tf.float32], f=f)
    return [raw(layer), raw(product)]


@case(f32(2, 5, 6, 3), f32(2, 3, 3, 4), np.random.default_rng(5).integers(0, 2**32, (2, 3)).astype(np.uint32), f32(4, 4), f32(5, 3))
def xla_arrays(x, k, packed, a, tall):
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla
    from tensorflow.compiler.xla import xla_data_pb2
    dims = xla_data_pb2.ConvolutionDimensionNumbers(
        input_batch_dimension=0, input_feature_dimension=3, input_spatial_dimensions=[1, 2], kernel_input_feature_dimension=2,
        kernel_output_feature_dimension=3, kernel_spatial_dimensions=[0, 1], output_batch_dimension=2, output_feature_dimension=0,
        output_spatial_dimensions=[1, 3]).SerializeToString()
    v2 = [xla.xla_conv_v2(x, k, window_strides=[2, 1], padding=[[1, 0], [0, 2]], lhs_dilation=[1, 2], rhs_dilation=[1, 1], feature_group_count=1,
                          dimension_numbers=dims, precision_config=b"", preferred_element_type=tf.float32, batch_group_count=1)]
    e, v = xla.xla_self_adjoint_eig(a + tf.transpose(a), lower=True, max_iter=100, epsilon=1e-6)
    s, u, w = xla.xla_svd(tall, max_iter=100, epsilon=1e-6, precision_config=b"")
    scalar = tf.cast(tf.size(x), tf.int32)
    top = [tf.raw_ops.ApproxTopK(input=a, k=3, reduction_dimension=1), tf.raw_ops.ApproxTopK(input=tall, k=2, reduction_dimension=0, is_max_k=False)]
    return v2 + [list(t) for t in top] + [xla.xla_conv(x, k, window_strides=[1, 1], padding=[[0, 0], [0, 0]], lhs_dilation=[1, 1], rhs_dilation=[1, 2], feature_group_count=1,
                              dimension_numbers=dims, precision_config=b""),
                 tf.cast(xla.xla_dequantize(packed, -1.5, 2.0, "MIN_COMBINED", False), tf.float32),
                 tf.cast(xla.xla_dequantize(packed, 0.0, 1.0, "MIN_COMBINED", True), tf.float32), e, tf.matmul(v * e, v, transpose_b=True), s,
                 tf.matmul(u[:, :3] * s, w[:, :3], transpose_b=True), xla.xla_set_bound(scalar, tf.constant(1000)),
                 xla.xla_remove_dynamic_dimension_size(xla.xla_set_dynamic_dimension_size(tall, 0, tf.constant(3)), 0)[:3]]


COMPILED.add("xla_arrays")


@case(f32(2, 3, 4, 4), f32(5, 5), s32(3, 3).astype(np.complex64) + 1j * s32(3, 3).astype(np.complex64))
def determinants(m, a, c):
    singular = a * np.float32([[0], [1], [1], [1], [1]])
    return [tf.linalg.det(m), tf.linalg.det(a), tf.linalg.det(c), tf.linalg.slogdet(m), tf.linalg.slogdet(c), tf.linalg.slogdet(singular),
            tf.linalg.lu(m), tf.linalg.lu(a, output_idx_type=tf.int64)]


@case(f32(2, 4, 5, 3), f32(2, 7, 3, 3))
def resizing(x, dy):
    raw = tf.raw_ops
    results = []
    for size in [(7, 3), (2, 8), (4, 5)]:
        results += [raw.ResizeArea(images=x, size=size)]
        for kind in [dict(), dict(align_corners=True), dict(half_pixel_centers=True)]:
            results += [raw.ResizeBicubic(images=x, size=size, **kind)]
    return results + [raw.ResizeBicubicGrad(grads=dy, original_image=x), raw.ResizeBicubicGrad(grads=dy, original_image=x, half_pixel_centers=True)]


@case(f32(2, 7, 5, 2), f32(2, 4, 9, 2))
def resampling(x, dy):
    raw = tf.raw_ops
    kernels = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")
    kinds = [dict(kernel_type=k, antialias=a) for k in kernels for a in (False, True)]
    results = [tf.image.resize(x, (3, 8), "lanczos3", antialias=True)]
    for kind in kinds:
        results += [raw.ScaleAndTranslate(images=x, size=(4, 9), scale=(0.5, 1.7), translation=(0.3, -1.2), **kind),
                    raw.ScaleAndTranslateGrad(grads=dy, original_image=x, scale=(0.5, 1.7), translation=(-0.4, 2.0),
                                              **kind)]
    return results


@case(f32(2, 5, 6, 2), f32(2, 8, low=-0.3, high=0.3) * np.float32([1, 1, 40, 1, 1, 40, 0.1, 0.1]) + np.float32([1, 0, 0, 0, 1, 0, 0, 0]))
def projections(x, t):
    return [tf.raw_ops.ImageProjectiveTransformV3(images=x, transforms=t, output_shape=[6, 7], fill_value=3.0, interpolation=interpolation, fill_mode=mode)
            for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST") for interpolation in ("BILINEAR", "NEAREST")]


class Optimizers(tf.Module):
    """Each optimiser's step on variables of its own; results are the variables afterwards."""
    STEPS = {
        "AdaMax": (["var", "m", "v"], dict(beta1_power=0.9, lr=0.1, beta1=0.9, beta2=0.99, epsilon=1e-6)),
        "Adadelta": (["var", "accum", "accum_update"], dict(lr=0.1, rho=0.9, epsilon=1e-4)),
        "AdagradDA": (["var", "gradient_accumulator", "gradient_squared_accumulator"],
                      dict(lr=0.1, l1=0.1, l2=0.2, global_step=3)),
        "AddSign": (["var", "m"], dict(lr=0.1, alpha=1.0, sign_decay=0.5, beta=0.9)),
        "PowerSign": (["var", "m"], dict(lr=0.1, logbase=1.0, sign_decay=0.5, beta=0.9)),
        "CenteredRMSProp": (["var", "mg", "ms", "mom"], dict(lr=0.1, rho=0.9, momentum=0.5, epsilon=0.9)),
        "RMSProp": (["var", "ms", "mom"], dict(lr=0.1, rho=0.9, momentum=0.5, epsilon=1e-3)),
        "Ftrl": (["var", "accum", "linear"], dict(lr=0.1, l1=0.1, l2=0.2, lr_power=-0.5)),
        "FtrlV2": (["var", "accum", "linear"], dict(lr=0.1, l1=0.1, l2=0.2, l2_shrinkage=0.1, lr_power=-0.5)),
        "ProximalGradientDescent": (["var"], dict(alpha=0.1, l1=0.1, l2=0.2)),
        "ProximalAdagrad": (["var", "accum"], dict(lr=0.1, l1=0.1, l2=0.2)),
        "Momentum": (["var", "accum"], dict(lr=0.1, momentum=0.9, use_nesterov=True)),
        "KerasMomentum": (["var", "accum"], dict(lr=0.1, momentum=0.9, use_nesterov=True)),
        "Adagrad": (["var", "accum"], dict(lr=0.1)),
        "AdagradV2": (["var", "accum"], dict(lr=0.1, epsilon=1e-3)),
        "GradientDescent": (["var"], dict(alpha=0.1)),
    }

    def __init__(self):
        self.slots = {name: [tf.Variable(np.abs(f32(2, 3)) + 0.1, name="%s_%s" % (name, n)) for n in names]
                      for name, (names, _) in self.STEPS.items()}
        self.rows = [tf.Variable(f32(4, 2), name="rows%d" % i) for i in range(10)]

    @tf.function(input_signature=[tf.TensorSpec([2, 3], tf.float32, "g"), tf.TensorSpec([3], tf.int32, "i"),
                                  tf.TensorSpec([3, 2], tf.float32, "u")])
    def step(self, g, i, u):
        for name, (names, constants) in self.STEPS.items():
            gradient = "delta" if name == "ProximalGradientDescent" or name == "GradientDescent" else "grad"
            getattr(tf.raw_ops, "ResourceApply" + name)(
                **{n: v.handle for n, v in zip(names, self.slots[name])}, **constants, **{gradient: g})
        kinds = ["Add", "Sub", "Mul", "Div", "Max", "Min", "Update"]
        for kind, v in zip(kinds, self.rows):
            getattr(tf.raw_ops, "ResourceScatter" + kind)(resource=v.handle, indices=i, updates=u)
        for kind, v in zip(["Add", "Sub", "Update"], self.rows[7:]):
            getattr(tf.raw_ops, "ResourceScatterNd" + kind)(ref=v.handle, indices=i[:, None], updates=u)
        return {"%02d" % k: tf.identity(v) for k, v in enumerate(tf.nest.flatten([self.slots, self.rows]))}


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


@case(f32(2, 3, 4), f32(2, 4, 3), f32(2, 3, 3, 4), f32(4, low=0.5), (f32(2, 3) + 1j * s32(2, 3)).astype(np.complex64))
def mixed_types(x, y, image, scale, z):
    """Types that only XLA's kernels take together."""
    raw, half, s = tf.raw_ops, tf.cast(image, tf.float16), tf.cast(scale, tf.bfloat16)
    norm = raw.FusedBatchNormV3(x=half, scale=s, offset=s, mean=s, variance=s, epsilon=0.01, is_training=False)
    ordered = tf.constant([[-1 - 2j, -1 + 1j, 0j, 1j, 2 + 0j]] * 2, tf.complex64)
    return [raw.BatchMatMulV3(x=x, y=y, Tout=tf.int32), tf.round(tf.cast(norm.y, tf.float32)), tf.cast(norm.batch_variance, tf.float32),
            raw.LowerBound(sorted_inputs=ordered, values=z), raw.UpperBound(sorted_inputs=ordered, values=z)]


COMPILED.add("mixed_types")


def write_accumulation(folder):
    """A SavedModel whose step writes w every second time: a counter that is restored decides."""
    class Model(tf.Module):
        def __init__(self):
            self.w, self.sum, self.count = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0]), tf.Variable(0)

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, "x")])
        def step(self, x):
            self.sum.assign_add(x * self.w)
            self.count.assign_add(1)
            if self.count % 2 == 0:
                self.w.assign_sub(self.sum)
                self.sum.assign([0.0, 0.0])
            return {"w": self.w.read_value()}
    model, path, x = Model(), os.path.join(folder, "accumulation"), f32(2)
    tf.saved_model.save(model, path, signatures=model.step)
    for _ in range(5):
        result = model.step(x)["w"].numpy()
    np.savez(os.path.join(path, "step.npz"), in0=x, out0=result)
    print("accumulation")


def write_shards(folder):
    """The variables of the SavedModel adam in a bundle of three files."""
    path = os.path.join(folder, "adam_in_shards")
    reader = tf.train.load_checkpoint(os.path.join(folder, "adam", "variables", "variables"))
    names, parts = sorted(reader.get_variable_to_shape_map()), [os.path.join(path, "part%d" % k) for k in range(3)]
    for k, part in enumerate(parts):
        own = names[k::3]
        tf.raw_ops.SaveV2(prefix=part, tensor_names=own, shape_and_slices=[""] * len(own), tensors=[reader.get_tensor(n) for n in own])
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=os.path.join(path, "variables"), delete_old_dirs=False)


def keras_models():
    """Small Keras models with random weights, and an input of each."""
    import keras
    from keras import layers
    keras.utils.set_random_seed(3)
    x = keras.Input((8, 8, 3))
    y = layers.Conv2D(6, 3, strides=2, padding="same", use_bias=False)(x)
    y = layers.ReLU(max_value=6)(layers.BatchNormalization()(y))
    z = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(y))
    z = layers.Activation("swish")(z)
    gate = layers.Dense(6, activation="sigmoid")(layers.GlobalAveragePooling2D(keepdims=True)(z))
    y = layers.UpSampling2D(2, interpolation="bilinear")(layers.Add()([y, layers.Multiply()([z, gate])]))
    yield "keras_convolutions", keras.Model(x, layers.Dense(3, activation="softmax")(layers.GlobalMaxPooling2D()(y))), f32(2, 8, 8, 3)
    x = keras.Input((6,), dtype="int32")
    y = layers.Embedding(20, 8)(x) + layers.Embedding(6, 8)(tf.range(6)[None])
    for causal in [False, True]:
        a = layers.LayerNormalization()(y)
        y = y + layers.MultiHeadAttention(2, 4)(a, a, use_causal_mask=causal)
        y = y + layers.Dense(8)(layers.Dense(16, activation="gelu")(layers.LayerNormalization()(y)))
    yield "keras_attention", keras.Model(x, layers.Dense(20)(y)), s32(2, 6, low=0, high=20)
    x = keras.Input((5, 4))
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    yield "keras_recurrent", keras.Model(x, layers.Dense(2)(layers.GRU(4)(y))), f32(2, 5, 4)


def write_keras_models(folder, names):
    """Frozen graphs of the models: variables are constants."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2 as freeze
    for name, model, x in keras_models():
        for weight in model.weights:
            if "moving" in weight.path or "gamma" in weight.path:
                weight.assign(random.uniform(0.5, 1.5, weight.shape))
        if names and name not in names:
            continue
        function = tf.function(lambda in0: model(in0, training=False))
        frozen = freeze(function.get_concrete_function(tf.TensorSpec(x.shape, x.dtype, "in0")), lower_control_flow=False)
        with open(os.path.join(folder, name + ".pb"), "wb") as file:
            file.write(frozen.graph.as_graph_def().SerializeToString(deterministic=True))
        np.savez(os.path.join(folder, name + ".npz"), in0=x, out0=model(x).numpy())
        print(name, len(frozen.graph.as_graph_def().node), "nodes")


def write_keras_training(folder):
    """FOLDER/keras_training: a Keras model with its optimizer, whose variables only the object graph has values for;
    predict.npz, and the losses of four steps."""
    import keras
    keras.utils.set_random_seed(5)
    path = os.path.join(folder, "keras_training")
    module = tf.Module()
    module.model = model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, activation="tanh"), keras.layers.Dense(3)])
    module.optimizer = optimizer = keras.optimizers.Adam(0.05)
    optimizer.build(model.trainable_variables)
    x, y = f32(6, 4), f32(6, 3)
    spec = [tf.TensorSpec([None, 4], tf.float32, "x"), tf.TensorSpec([None, 3], tf.float32, "y")]

    @tf.function(input_signature=spec)
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return {"loss": loss}

    predict = tf.function(lambda x: {"y": model(x)}, input_signature=spec[:1])
    tf.saved_model.save(module, path, signatures={"serving_default": predict, "step": step},
                        options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    np.savez(os.path.join(path, "predict.npz"), in0=x, out0=predict(x)["y"].numpy())
    losses = [float(step(x, y)["loss"]) for _ in range(4)]
    np.savez(os.path.join(path, "step.npz"), in0=x, in1=y, out0=np.float32(losses[-1]))
    print("keras_training", losses)


def write_embedding_training(folder):
    """FOLDER/embedding_training: Adagrad on an Embedding, whose rows a branch scales; losses of four steps, a batch
    of 4."""
    import keras
    keras.utils.set_random_seed(7)
    path = os.path.join(folder, "embedding_training")
    module = tf.Module()
    net = [keras.layers.Embedding(7, 2), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(3)]
    module.model = model = keras.Sequential([keras.Input((3,), dtype="int32")] + net)
    module.optimizer = optimizer = keras.optimizers.Adagrad(0.5)
    optimizer.build(model.trainable_variables)
    x, y = s32(4, 3, low=0, high=7), f32(4, 3)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.int32, "x"), tf.TensorSpec([None, 3], tf.float32, "y")])
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return {"loss": loss}

    tf.saved_model.save(module, path, signatures={"step": step},
                        options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    losses = [float(step(x, y)["loss"]) for _ in range(4)]
    np.savez(os.path.join(path, "step.npz"), in0=x, in1=y, out0=np.float32(losses[-1]))
    print("embedding_training", losses)


def write_recurrent_training(folder):
    """FOLDER/recurrent_training: one step of an LSTM on a batch of unknown size, whose gradient pushes sizes on
    lists."""
    import keras
    keras.utils.set_random_seed(6)
    path = os.path.join(folder, "recurrent_training")
    x = keras.Input((5, 2))
    module = tf.Module()
    module.model = model = keras.Model(x, keras.layers.Dense(1)(keras.layers.LSTM(3)(x)))
    x, y = f32(4, 5, 2), f32(4, 1)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            variable.assign_sub(0.1 * gradient)
        return {"loss": loss}
    spec = [tf.TensorSpec([None, 5, 2], tf.float32, "x"), tf.TensorSpec([None, 1], tf.float32, "y")]
    step = tf.function(step, input_signature=spec)
    tf.saved_model.save(module, path, signatures=step, options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    losses = [float(step(x, y)["loss"]) for _ in range(3)]
    np.savez(os.path.join(path, "step.npz"), in0=x, in1=y, out0=np.float32(losses[-1]))
    print("recurrent_training", losses)


def write_optimizers(folder):
    """FOLDER/optimizers: a SavedModel whose signature changes its variables and returns them."""
    path = os.path.join(folder, "optimizers")
    model, g, i, u = Optimizers(), f32(2, 3), np.array([2, 0, 3], np.int32), f32(3, 2)
    tf.saved_model.save(model, path, signatures={"step": model.step},
                        options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    results = model.step(g, i, u)
    arrays = {"out%d" % k: results[name].numpy() for k, name in enumerate(sorted(results))}
    np.savez(os.path.join(path, "step.npz"), in0=g, in1=i, in2=u, **arrays)
    print("optimizers", len(results), "variables")


def main():
    tf1.enable_control_flow_v2()
    folder, names = sys.argv[1], sys.argv[2:]
    for name in names or CASES:
        if name in CASES:
            write(name, folder)
    if not names or "adam" in names:
        write_saved_model(folder)
        write_shards(folder)
    if not names or "accumulation" in names:
        write_accumulation(folder)
    if not names or "optimizers" in names:
        write_optimizers(folder)
    if not names or "keras_training" in names:
        write_keras_training(folder)
    if not names or "embedding_training" in names:
        write_embedding_training(folder)
    if not names or "recurrent_training" in names:
        write_recurrent_training(folder)
    if not names or any(name.startswith("keras") for name in names):
        write_keras_models(folder, names)


main()
