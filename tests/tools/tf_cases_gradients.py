"""Cases for make_tf_cases.py: special functions, types, gradients of loops and branches, XLA's operations."""
import numpy as np
import tensorflow as tf

from tf_graphs import legacy
from tf_case_registry import COMPILED, case, f32, pull_back, s32, tf1


@case(f32(4, 5, low=0.1, high=6), f32(4, 5, low=0.1, high=9), f32(4, 5, low=0.05, high=0.95))
def special_functions(a, x, p):
    raw, results = tf.raw_ops, []
    for dtype in [tf.float32, tf.float64]:
        b, y, q = tf.cast(a, dtype), tf.cast(x, dtype), tf.cast(p, dtype)
        results += [raw.BesselI0e(x=y - 4), raw.Betainc(a=b, b=y, x=q), raw.Igamma(a=b, x=y), raw.Igammac(a=b, x=y),
                    raw.IgammaGradA(a=b, x=y), raw.RandomGammaGrad(alpha=b, sample=y)]
    edges = tf.constant([0.0, 0.0, 1e-3, 30.0, 2.5, -1.0, 1.0])
    return results + [raw.Igamma(a=edges, x=edges[::-1]), raw.Igammac(a=[1.0, 2.0, 50.0], x=[0.0, 1e-4, 60.0]),
                      raw.Betainc(a=[1.0, 2.0, 0.5], b=[2.0, 3.0, 40.0], x=[0.0, 1.0, 0.01]),
                      raw.BesselI0e(x=[0.0, 8.0, 8.1, 100.0, -3.0])]


@case(f32(3, 4), s32(9, low=0, high=4), s32(4, 2, low=0, high=2), f32(9, 2))
def varying_sizes(x, i, rows, data):
    raw = tf.raw_ops
    unique, where = raw.Unique(x=i), raw.UniqueV2(x=rows, axis=[0])
    known = raw.Where(condition=tf.constant([[1, 0], [2, 3]]))
    diff = raw.ListDiff(x=i, y=i[:2])
    return [raw.Where(condition=x > 0), raw.Where(condition=i), unique.y, unique.idx, where.y, where.idx,
            raw.UniqueV2(x=i, axis=tf.zeros([0], tf.int32), out_idx=tf.int64).idx, diff.out, diff.idx,
            known + tf.cast(i[0], tf.int64),
            raw.UniqueV2(x=rows, axis=[1]).idx] + raw.DynamicPartition(data=data, partitions=i, num_partitions=4)


@case(np.sort(f32(8, 2, 2, low=0, high=1), axis=1).reshape(8, 4)[:, [0, 1, 2, 3]], f32(8, low=0, high=1))
def suppression(boxes, scores):
    raw = tf.raw_ops
    v4 = [raw.NonMaxSuppressionV4(boxes=boxes, scores=scores, max_output_size=n, iou_threshold=t, score_threshold=0.2,
                                  pad_to_max_output_size=True) for n, t in [(3, 0.1), (10, 0.5)]]
    return [list(v) for v in v4] + [raw.NonMaxSuppressionV3(boxes=boxes, scores=scores, max_output_size=5,
                                                            iou_threshold=t,
                                                            score_threshold=0.1) for t in [0.05, 0.3]]


@case(np.random.default_rng(3).integers(-128, 128, (3, 4)).astype(np.int8),
      np.random.default_rng(4).integers(-128, 128, (4, 5)).astype(np.int8), f32(3, 4), f32(3, 4))
def quantised(x, y, z, w):
    raw, f = tf.raw_ops, tf.constant
    q = lambda v, t: raw.UniformQuantize(input=v, scales=f(0.03), zero_points=f(3), Tout=t, quantization_min_val=-128,
                                         quantization_max_val=127)
    a, b = tf.bitcast(x, tf.qint8), tf.bitcast(y, tf.qint8)
    big = lambda v: raw.UniformQuantize(input=v, scales=f(1e-4), zero_points=f(7), Tout=tf.qint32,
                                        quantization_min_val=-2**31,
                                        quantization_max_val=2**31 - 1)
    bits = lambda v: tf.bitcast(v, tf.int8 if v.dtype == tf.qint8 else tf.int32)
    dot = raw.UniformQuantizedDot(lhs=a, rhs=b, lhs_scales=f(0.02), lhs_zero_points=f(2), rhs_scales=f(0.01),
                                  rhs_zero_points=f(-1),
                                  output_scales=f(0.001), output_zero_points=f(5), Tout=tf.qint32,
                                  lhs_quantization_min_val=-128,
                                  lhs_quantization_max_val=127, rhs_quantization_min_val=-128,
                                  rhs_quantization_max_val=127,
                                  output_quantization_min_val=-2**31, output_quantization_max_val=2**31 - 1)
    image, kernel = tf.reshape(a, [1, 2, 3, 2]), tf.reshape(b, [5, 2, 2, 1])
    conv = raw.UniformQuantizedConvolution(
        lhs=image, rhs=kernel, lhs_scales=f(0.02), lhs_zero_points=f(2), rhs_scales=f(0.01), rhs_zero_points=f(0),
        output_scales=f(0.001),
        output_zero_points=f(5), Tout=tf.qint32, padding="SAME", window_strides=[1, 1], lhs_quantization_min_val=-128,
        lhs_quantization_max_val=127, rhs_quantization_min_val=-128, rhs_quantization_max_val=127,
        output_quantization_min_val=-2**31, output_quantization_max_val=2**31 - 1)
    add = raw.UniformQuantizedAdd(lhs=big(z), rhs=big(w), lhs_scales=f(1e-4), lhs_zero_points=f(7), rhs_scales=f(1e-4),
                                  rhs_zero_points=f(7),
                                  output_scales=f(2e-4), output_zero_points=f(-3), lhs_quantization_min_val=-2**31,
                                  lhs_quantization_max_val=2**31 - 1, rhs_quantization_min_val=-2**31,
                                  rhs_quantization_max_val=2**31 - 1,
                                  output_quantization_min_val=-2**31, output_quantization_max_val=2**31 - 1)
    per_axis = raw.UniformQuantize(input=z, scales=[0.01, 0.02, 0.04], zero_points=[0, 1, 2], Tout=tf.qint8,
                                   quantization_axis=0,
                                   quantization_min_val=-127, quantization_max_val=127)
    again = raw.UniformRequantize(input=q(z, tf.qint8), input_scales=f(0.03), input_zero_points=f(3),
                                  output_scales=f(0.05),
                                  output_zero_points=f(-2), Tout=tf.qint8, input_quantization_min_val=-128,
                                  input_quantization_max_val=127,
                                  output_quantization_min_val=-128, output_quantization_max_val=127)
    clip = raw.UniformQuantizedClipByValue(operand=big(z), min=tf.bitcast(f(-5000), tf.qint32),
                                           max=tf.bitcast(f(9000), tf.qint32),
                                           scales=f(1e-4), zero_points=f(7), quantization_min_val=-2**31,
                                           quantization_max_val=2**31 - 1)
    results = [bits(q(z, tf.qint8)), bits(per_axis), bits(again), bits(dot), bits(conv), bits(add), bits(clip),
               raw.UniformDequantize(input=a, scales=f(0.02), zero_points=f(2), Tout=tf.float32,
                                     quantization_min_val=-128,
                                     quantization_max_val=127)]
    for mode in ["MIN_COMBINED", "MIN_FIRST", "SCALED"]:
        results += [raw.Dequantize(input=a, min_range=-1.5, max_range=2.0, mode=mode),
                    raw.Dequantize(input=tf.bitcast(tf.bitcast(y, tf.uint8), tf.quint8), min_range=0.0, max_range=2.0,
                                   mode=mode)]
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
    return [e, raw.SelfAdjointEigV2(input=symmetric, compute_v=False).e, tf.matmul(v * e[:, None], v, transpose_b=True),
            s, t,
            tf.matmul(u * s[:, None], w, transpose_b=True), tf.matmul(p, p, transpose_a=True),
            tf.matmul(q, q, transpose_b=True),
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
    results = [raw.Conv(input=x, filter=k, **conv), raw.MaxPoolGradGrad(orig_input=x, orig_output=pool, grad=tf.cos(x),
                                                                        **kind),
               raw.MaxPoolGradGradV2(orig_input=x, orig_output=pool, grad=tf.cos(x), **kind),
               raw.MaxPool3DGradGrad(orig_input=volume, orig_output=pool3, grad=tf.cos(volume), ksize=[1, 2, 2, 2, 1],
                                     strides=[1, 2, 2, 1, 1], padding="VALID")]
    from tensorflow.python.framework.op_def_library import apply_op
    for parts, args in [(["BiasAdd"], [b]), (["BiasAdd", "Relu"], [b]),
                        (["FusedBatchNorm", "Relu6"], [b, b * b, b - 1, b * b + 1])]:
        results += [apply_op("_FusedConv2D", name="conv", input=x, filter=k, args=args, host_args=[],
                             num_args=len(args), explicit_paddings=[], data_format="NHWC",
                             filter_format="HWIO", dilations=[1, 1, 1, 1], use_cudnn_on_gpu=False, leakyrelu_alpha=0.2,
                             strides=[1, 2, 1, 1], padding="SAME",
                             fused_ops=parts, epsilon=0.01)]
    results += [apply_op("_FusedMatMul", name="product", a=m, b=m, args=[m[:, 0]], transpose_a=False, transpose_b=True,
                         fused_ops=["BiasAdd", "LeakyRelu"],
                         epsilon=0.0, leakyrelu_alpha=0.3),
                apply_op("_UnaryOpsComposition", name="composed", x=m, op_names=["Tanh", "Square", "Neg"])]
    for exclusive in [False, True]:
        for reverse in [False, True]:
            results += [raw.CumulativeLogsumexp(x=m, axis=1, exclusive=exclusive, reverse=reverse)]
    return results + [tf.bitcast(raw.StatelessMultinomial(logits=m, num_samples=5, seed=[3, 8], output_dtype=tf.int32),
                                 tf.int32)]


@case(f32(5), f32(2, 3), np.int32(4))
@legacy
def stacks(x, y, n):
    def body(i, z):
        return [i + 1, tf.sin(z) * x]
    _, out = tf1.while_loop(lambda i, z: i < 6, body, [0, x * 2], maximum_iterations=6)
    _, other = tf1.while_loop(lambda i, z: i < n, lambda i, z: [i + 1, tf.tanh(z @ tf.transpose(y)) @ y], [0, y],
                              maximum_iterations=9)
    return [out, pull_back(out, [x]), pull_back(other, [y])]


@case(f32(3, 5, 4), f32(4, 3), f32(3, 3), f32(5, 3), np.array([2, 5, 0], np.int32))
@legacy
def frame_gradients(x, w, u, y, lengths):
    """Loops without a bound: a recurrent network that stops at each row's length, branches and loops in loops."""
    source = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(x, [1, 0, 2]))

    def step(i, state, out):
        new = tf.tanh(source.read(i) @ w + state @ u)
        new = tf1.cond(i >= tf.reduce_max(lengths), lambda: state,
                       lambda: tf.where((i >= lengths)[:, None], state, new))
        return i + 1, new, out.write(i, new)
    _, last, out = tf1.while_loop(lambda i, s, a: i < 5, step, [0, tf.zeros([3, 3]), tf.TensorArray(tf.float32, 5)])
    states = out.stack()

    def choose(i, z):
        z = tf1.cond(tf.equal(i % 2, 0), lambda: z + y[i], lambda: tf1.cond(tf.reduce_sum(z) > 0, lambda: z * y[-i],
                                                                            lambda: z - 1))
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
    results = [alternate(x, y), leave(y), nested(y), conditional_loop(y),
               tf.map_fn(lambda m: tf.matmul(m, m), matrices),
               tf.scan(lambda a, e: a * 0.5 + tf.sin(e), x),
               tf.cond(y[0] > 0, lambda: tf.sin(y) * y, lambda: tf.exp(y)),
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


@case(f32(2, 5, 6, 3), f32(2, 3, 3, 4), np.random.default_rng(5).integers(0, 2**32, (2, 3)).astype(np.uint32),
      f32(4, 4), f32(5, 3))
def xla_arrays(x, k, packed, a, tall):
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla
    from tensorflow.compiler.xla import xla_data_pb2
    dims = xla_data_pb2.ConvolutionDimensionNumbers(
        input_batch_dimension=0, input_feature_dimension=3, input_spatial_dimensions=[1, 2],
        kernel_input_feature_dimension=2,
        kernel_output_feature_dimension=3, kernel_spatial_dimensions=[0, 1], output_batch_dimension=2,
        output_feature_dimension=0,
        output_spatial_dimensions=[1, 3]).SerializeToString()
    v2 = [xla.xla_conv_v2(x, k, window_strides=[2, 1], padding=[[1, 0], [0, 2]], lhs_dilation=[1, 2],
                          rhs_dilation=[1, 1], feature_group_count=1,
                          dimension_numbers=dims, precision_config=b"", preferred_element_type=tf.float32,
                          batch_group_count=1)]
    e, v = xla.xla_self_adjoint_eig(a + tf.transpose(a), lower=True, max_iter=100, epsilon=1e-6)
    s, u, w = xla.xla_svd(tall, max_iter=100, epsilon=1e-6, precision_config=b"")
    scalar = tf.cast(tf.size(x), tf.int32)
    top = [tf.raw_ops.ApproxTopK(input=a, k=3, reduction_dimension=1),
           tf.raw_ops.ApproxTopK(input=tall, k=2, reduction_dimension=0, is_max_k=False)]
    return v2 + [list(t) for t in top] + [xla.xla_conv(x, k, window_strides=[1, 1], padding=[[0, 0], [0, 0]],
                                                       lhs_dilation=[1, 1], rhs_dilation=[1, 2], feature_group_count=1,
                              dimension_numbers=dims, precision_config=b""),
                 tf.cast(xla.xla_dequantize(packed, -1.5, 2.0, "MIN_COMBINED", False), tf.float32),
                 tf.cast(xla.xla_dequantize(packed, 0.0, 1.0, "MIN_COMBINED", True), tf.float32), e,
                 tf.matmul(v * e, v, transpose_b=True), s,
                 tf.matmul(u[:, :3] * s, w[:, :3], transpose_b=True), xla.xla_set_bound(scalar, tf.constant(1000)),
                 xla.xla_remove_dynamic_dimension_size(xla.xla_set_dynamic_dimension_size(tall, 0, tf.constant(3)),
                                                       0)[:3]]


COMPILED.add("xla_arrays")


@case(f32(2, 3, 4, 4), f32(5, 5), s32(3, 3).astype(np.complex64) + 1j * s32(3, 3).astype(np.complex64))
def determinants(m, a, c):
    singular = a * np.float32([[0], [1], [1], [1], [1]])
    return [tf.linalg.det(m), tf.linalg.det(a), tf.linalg.det(c), tf.linalg.slogdet(m), tf.linalg.slogdet(c),
            tf.linalg.slogdet(singular),
            tf.linalg.lu(m), tf.linalg.lu(a, output_idx_type=tf.int64)]


@case(f32(2, 4, 5, 3), f32(2, 7, 3, 3))
def resizing(x, dy):
    raw = tf.raw_ops
    results = []
    for size in [(7, 3), (2, 8), (4, 5)]:
        results += [raw.ResizeArea(images=x, size=size)]
        for kind in [dict(), dict(align_corners=True), dict(half_pixel_centers=True)]:
            results += [raw.ResizeBicubic(images=x, size=size, **kind)]
    return results + [raw.ResizeBicubicGrad(grads=dy, original_image=x),
                      raw.ResizeBicubicGrad(grads=dy, original_image=x, half_pixel_centers=True)]


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


@case(f32(2, 5, 6, 2), f32(2, 8, low=-0.3, high=0.3) * np.float32([1, 1, 40, 1, 1, 40, 0.1, 0.1]) + np.float32([1, 0, 0,
    0, 1, 0, 0, 0]))
def projections(x, t):
    return [tf.raw_ops.ImageProjectiveTransformV3(images=x, transforms=t, output_shape=[6, 7], fill_value=3.0,
                                                  interpolation=interpolation, fill_mode=mode)
            for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST") for interpolation in ("BILINEAR", "NEAREST")]


@case(f32(2, 3, 4), f32(2, 4, 3), f32(2, 3, 3, 4), f32(4, low=0.5), (f32(2, 3) + 1j * s32(2, 3)).astype(np.complex64))
def mixed_types(x, y, image, scale, z):
    """Types that only XLA's kernels take together."""
    raw, half, s = tf.raw_ops, tf.cast(image, tf.float16), tf.cast(scale, tf.bfloat16)
    norm = raw.FusedBatchNormV3(x=half, scale=s, offset=s, mean=s, variance=s, epsilon=0.01, is_training=False)
    ordered = tf.constant([[-1 - 2j, -1 + 1j, 0j, 1j, 2 + 0j]] * 2, tf.complex64)
    return [raw.BatchMatMulV3(x=x, y=y, Tout=tf.int32), tf.round(tf.cast(norm.y, tf.float32)),
            tf.cast(norm.batch_variance, tf.float32),
            raw.LowerBound(sorted_inputs=ordered, values=z), raw.UpperBound(sorted_inputs=ordered, values=z)]


COMPILED.add("mixed_types")


@case(f32(6, 3), np.int32([0, 2, 1, 1, 0, 2]), np.int32([0, 2, 2, 2, 0, 0]), np.int32([3, 0, 1, 1, 2]))
def stitches_by_data(x, routes, two_routes, places):
    """Rows that are parted by data, changed, and put back; indices that come twice and out of order; counts."""
    def routed(x, part):
        rows, parts = tf.dynamic_partition(tf.range(6), part, 3), tf.dynamic_partition(x, part, 3)
        return tf.dynamic_stitch(rows, [parts[0] * 2, tf.sin(parts[1]), parts[2] - 1])

    raw = tf.raw_ops
    unique, rows = raw.UniqueWithCounts(x=places), raw.UniqueWithCountsV2(x=x[:, :1] > 0, axis=[0], out_idx=tf.int64)
    return [routed(x, routes), routed(x, two_routes), *pull_back(routed(x, routes), [x]),
            tf.dynamic_stitch([places[:2], places[2:]], [x[:2], x[2:5]]),
            raw.ParallelDynamicStitch(indices=[places[1], tf.reshape(places[3:], [2, 1])],
                                      data=[x[0], tf.reshape(x[1:3], [2, 1, 3])]),
            unique.count, rows.count, raw.UniqueWithCounts(x=tf.boolean_mask(routes, x[:, 0] > 0)).count]
