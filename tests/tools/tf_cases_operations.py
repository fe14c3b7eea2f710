"""Cases for make_tf_cases.py: families of operations."""
import numpy as np
import tensorflow as tf

from tf_graphs import legacy
from tf_case_registry import COMPILED, case, f32, pull_back, s32, tf1


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
            tf.split(x, [1, 2, -1], axis=2), tf.tile(x, [2, 1, 3]), tf.slice(x, [1, 0, 2], [1, 3, -1]),
            x[1:, ::2, ::-2],
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
    return [tf.linalg.cholesky(spd), tf.linalg.triangular_solve(spd, y), tf.linalg.inv(spd),
            tf.linalg.inv(spd, adjoint=True),
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
    _, last, out = tf1.while_loop(lambda i, s, a: i < 5, step,
                                  [0, tf.zeros([2, 3]), tf.TensorArray(tf.float32, 5, clear_after_read=False)])
    parts = tf.TensorArray(tf.float32, 3).split(sequence[0, 0] * 2, [1, 1, 1])
    return [nested, shaped, chosen, known, inside, deep, last, out.stack(), out.gather([3, 1]), out.concat(),
            parts.stack(),
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
            raw.SparseToDense(sparse_indices=[[0, 1], [2, 0]], output_shape=[3, 2], sparse_values=x[0, :2],
                              default_value=9.0),
            raw.PopulationCount(x=i),
            tf.linalg.set_diag(v, x[0, :3]), raw.Diag(diagonal=v), raw.DiagPart(input=v), tf.linalg.cross(v, v[::-1]),
            raw.ExtractImagePatches(images=image, ksizes=[1, 2, 3, 1], strides=[1, 2, 1, 1], rates=[1, 1, 1, 1],
                                    padding="SAME"),
            raw.ExtractImagePatches(images=image, ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 2, 1, 1],
                                    padding="VALID"),
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
    return [xla.xla_dot(x, y, dims.SerializeToString(), b""),
            xla.xla_dot_v2(x, y, dims.SerializeToString(), b"", tf.float32),
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
                    list(raw.FakeQuantWithMinMaxVarsPerChannelGradient(gradients=y, inputs=x, min=low, max=high,
                                                                       **kind))]
    for signed, given, mode in [(True, False, "HALF_TO_EVEN"), (True, True, "HALF_UP"), (False, True, "HALF_TO_EVEN")]:
        kind = {"signed_input": signed, "range_given": given, "input_min": 0.0 if not signed else -1.0,
                "input_max": 1.2}
        results += [raw.QuantizeAndDequantizeV2(input=x, num_bits=5, round_mode=mode, **kind),
                    raw.QuantizeAndDequantizeV3(input=x, num_bits=4, **kind),
                    raw.QuantizeAndDequantizeV4(input=x, num_bits=6, round_mode=mode, **kind)]
    blocks = raw.SpaceToBatch(input=image, paddings=[[0, 0], [1, 1]], block_size=2)
    results += [blocks, raw.BatchToSpace(input=blocks, crops=[[0, 0], [1, 1]], block_size=2),
                tf.math.ndtri(tf.sigmoid(x)),
                tf.math.nextafter(tf.cast(x, tf.float64), tf.cast(y, tf.float64)), tf.math.nextafter(x * 0, y),
                raw.ToBool(input=x[0, 0])]
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
    grown = raw.TensorListPushBack(input_handle=raw.EmptyTensorList(element_shape=[4], max_num_elements=3,
                                                                    element_dtype=tf.float32),
                                   tensor=x[0])
    popped, last = raw.TensorListPopBack(input_handle=raw.TensorListPushBack(input_handle=grown, tensor=x[1]),
                                         element_shape=[4],
                                         element_dtype=tf.float32)
    seed = tf.constant([3, 9])
    key, counter = raw.StatelessRandomGetKeyCounter(seed=seed)
    pool = raw.MaxPool(input=image, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    pool3 = raw.MaxPool3D(input=volume, ksize=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID")
    return [raw.Add(x=x, y=y), raw.Angle(input=c), raw.ApproximateEqual(x=x, y=y, tolerance=0.5),
            raw.BatchMatMul(x=volume, y=volume, adj_x=True),
            raw.BatchMatMulV3(x=volume, y=volume, Tout=tf.float32, adj_y=True), raw.BesselI1e(x=x),
            raw.BiasAddGrad(out_backprop=image),
            raw.BiasAddV1(value=image, bias=scale), raw.Bitcast(input=x, type=tf.int32),
            raw.CheckNumerics(tensor=x, message=""),
            raw.ClipByValue(t=x, clip_value_min=-1.0, clip_value_max=0.5), raw.ComplexAbs(x=c),
            raw.Concat(concat_dim=1, values=[x, y]),
            list(raw.ConcatOffset(concat_dim=1, shape=[[2, 3], [2, 4]])), raw.Real(input=raw.Conj(input=c)),
            raw.Imag(input=raw.ConjugateTranspose(x=c, perm=[1, 0])), raw.Div(x=x, y=y), raw.Div(x=i, y=i + 2), new,
            mean, variance,
            list(raw.FusedBatchNormGrad(y_backprop=tf.cos(image), x=image, scale=scale, reserve_space_1=first,
                                        reserve_space_2=second))[:3],
            list(raw.FusedBatchNormGradV3(y_backprop=tf.cos(image), x=image, scale=scale, reserve_space_1=third[3],
                                          reserve_space_2=third[4],
                                          reserve_space_3=third[5], is_training=False))[:3],
            raw.Gather(params=x, indices=i), raw.Inv(x=y), raw.InvGrad(y=x, dy=y),
            raw.InvertPermutation(x=[2, 0, 1]) + i[:3],
            raw.LeakyReluGrad(gradients=y, features=x), raw.LinSpace(start=0.5, stop=2.0, num=4) * x,
            raw.LogicalNot(x=b),
            raw.LogicalOr(x=b, y=x > 0), raw.MatrixDiag(diagonal=x), raw.MatrixDiagPart(input=x),
            raw.MatrixSetDiag(input=x, diagonal=y[:, 0]),
            raw.MaxPool3DGrad(orig_input=volume, orig_output=pool3, grad=tf.cos(pool3), ksize=[1, 2, 2, 2, 1],
                              strides=[1] * 5, padding="VALID"),
            raw.MaxPoolGradV2(orig_input=image, orig_output=pool, grad=tf.cos(pool), ksize=[1, 2, 2, 1],
                              strides=[1, 2, 2, 1], padding="VALID"),
            raw.Mod(x=i, y=i + 2), raw.OnesLike(x=x), raw.ZerosLike(x=x),
            raw.ParallelDynamicStitch(indices=[[1, 0], [2]], data=[x[:2], x[2:]]),
            raw.PlaceholderWithDefault(input=x, shape=[3, 4]), raw.Polygamma(a=tf.ones_like(y), x=y),
            raw.Zeta(x=y + 1.5, q=y),
            raw.PreventGradient(input=x), raw.Rank(input=x), raw.Size(input=x), raw.ReciprocalGrad(y=x, dy=y),
            raw.Relu6Grad(gradients=y, features=4 * x),
            raw.Reverse(tensor=x, dims=[True, False]), raw.RsqrtGrad(y=x, dy=y), raw.SeluGrad(gradients=y, outputs=x),
            raw.Snapshot(input=x),
            raw.SoftplusGrad(gradients=y, features=x), raw.SoftsignGrad(gradients=y, features=x),
            raw.SparseMatMul(a=x, b=y, transpose_b=True),
            raw.StatelessRandomUniformIntV2(shape=[5], key=key, counter=counter, alg=1, minval=2, maxval=90),
            raw.StatelessRandomUniformFullIntV2(shape=[5], key=key, counter=counter, alg=1, dtype=tf.uint64),
            raw.TensorScatterMax(tensor=x, indices=[[1], [0]], updates=y[:2]),
            raw.TensorScatterMin(tensor=x, indices=[[1], [0]], updates=-y[:2]),
            raw.TensorScatterSub(tensor=x, indices=[[1], [1]], updates=y[:2]),
            raw.UnsortedSegmentMin(data=x[0], segment_ids=i, num_segments=3)[:0],
            raw.UnsortedSegmentProd(data=x[0], segment_ids=i, num_segments=3),
            raw.TensorListGather(input_handle=listed, indices=[2, 0], element_shape=[4], element_dtype=tf.float32),
            raw.TensorListLength(input_handle=listed), raw.TensorListElementShape(input_handle=listed,
                                                                                  shape_type=tf.int32), last,
            raw.TensorListGetItem(input_handle=popped, index=0, element_shape=[4], element_dtype=tf.float32)]
