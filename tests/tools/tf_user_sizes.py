"""More graphs for check_tf_models.py, registered in tf_graphs.GRAPHS: arrays whose sizes depend on data, in each
family of operations."""

import numpy as np
import tensorflow as tf

from tf_graphs import f32, graph, traced

MASK = np.array([1, 0, 1, 1, 0, 1], bool)
NUMBERS = np.array([3, 1, 4, 1, 5, 2], np.int32)


def rows(function):
    """The function on the rows of x and the numbers that the mask keeps."""

    @traced
    def masked(x, mask, numbers):
        return tf.nest.flatten(function(tf.boolean_mask(x, mask), tf.boolean_mask(numbers, mask)))

    masked.__name__ = function.__name__
    return masked


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def sizes_in_losses(x, i):
    classes = tf.minimum(i, 3)
    return [
        tf.nn.sparse_softmax_cross_entropy_with_logits(classes, x),
        tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(classes, 4, 0.9, 0.1), x),
        tf.gradients(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(classes, x)), x),
        tf.math.in_top_k(classes, x, 2),
        tf.raw_ops.DenseBincount(input=i, size=6, weights=np.zeros(0, np.float32), binary_output=True),
        tf.searchsorted([1, 2, 4], i),
        tf.searchsorted(tf.sort(i), [1, 2, 4]),
    ]


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def sizes_in_normalisations(x, _):
    more = dict(scale=[1.0, 2, 3, 4], offset=[0.0, 1, 0, 1], mean=[0.0] * 4, variance=[1.0] * 4)
    image = x[:, None, None, :]
    y = tf.raw_ops.FusedBatchNormV3(x=image, is_training=True, **more)
    kept = {"reserve_space_%d" % k: y[k + 2] for k in (1, 2, 3)}
    back = tf.raw_ops.FusedBatchNormGradV3(y_backprop=tf.sin(image), x=image, scale=more["scale"], **kept)
    return [
        tf.nn.bias_add(x, [1.0, 2, 3, 4]),
        y[:3],
        back[:3],
        tf.raw_ops.FusedBatchNormV3(x=image, is_training=False, **more)[0],
        tf.nn.avg_pool1d(x[None], 2, 1, "VALID"),
    ]


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def sizes_that_are_cut_again(x, i):
    dense = tf.sparse.to_dense(tf.sparse.from_dense(tf.nn.relu(x)))
    return [
        tf.where(x[:, 0] > 0),
        tf.where(x > 0),
        tf.boolean_mask(x, x[:, 0] > 0),
        tf.boolean_mask(x, i > 2) @ tf.ones([4, 2]),
        tf.dynamic_partition(x, tf.minimum(i, 2) - 1, 2),
        tf.unique(i),
        tf.image.non_max_suppression(tf.abs(x), x[:, 0], 3),
        dense,
        tf.slice(x, [1, 0], [-1, 2]),
        tf.slice(tf.range(6), [0], [tf.size(i)]),
    ]


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def sizes_of_matrices(x, _):
    square = tf.matmul(x, x, transpose_b=True)
    return [
        tf.eye(tf.shape(x)[0]),
        tf.linalg.diag(x[:, 0]),
        tf.linalg.diag(x),
        tf.linalg.diag_part(square),
        tf.linalg.set_diag(square, x[:, 1]),
        tf.linalg.band_part(square, 1, 0),
        tf.tensordot(x, x, [[0], [0]]),
        tf.bitcast(x, tf.int32),
    ]


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def sizes_in_loops(x, _):
    return [
        tf.map_fn(lambda row: row * tf.reduce_sum(row), x),
        tf.vectorized_map(lambda row: tf.reduce_sum(row * row), x),
        tf.gradients(tf.nn.softmax(x, 0)[0], x),
        tf.gradients(tf.sin(x)[1:-1], x),
        tf.random.stateless_normal(tf.shape(x), [1, 2]),
        tf.shape(tf.random.uniform(tf.shape(x))),
        tf.shape(tf.nn.dropout(x, 0.5)),
    ]


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def gradients_of_sizes(x, i):
    kernel = tf.reshape(tf.range(12.0) / 10, [2, 2, 1, 3])
    image = tf.nn.conv2d(tf.reshape(x, [-1, 2, 2, 1]), kernel, 1, "SAME")
    losses = [
        image * image,
        tf.nn.avg_pool2d(tf.reshape(x, [-1, 4, 1, 1]), [2, 1], 1, "SAME") ** 2,
        tf.sin(tf.concat([x, x * x], 1)),
        tf.boolean_mask(x, i > 2) ** 2,
        tf.math.unsorted_segment_sum(x * x, tf.minimum(i, 3), tf.size(i)),
    ]
    return [tf.gradients(loss, x) for loss in losses]


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def gradients_of_loops_over_sizes(x, i):
    kernel = tf.reshape(tf.range(12.0) / 10, [4, 3])
    losses = [
        tf.map_fn(lambda row: tf.linalg.matvec(kernel, row, transpose_a=True), x) ** 2,
        tf.tile(x, [2, 1]) ** 2,
        tf.repeat(x, 2, 0) ** 2,
        tf.matmul(x[:, None, :], tf.tile(kernel[None], [tf.shape(x)[0], 1, 1])) ** 2,
    ]
    return [tf.gradients(loss, x) for loss in losses] + [tf.unravel_index(i, [3, 4])]


@graph(f32(6, 4))
def constants_of_branches(x):
    """Sizes that all branches give are constants after them: shapes of rows on which Keras's optimizers branch."""
    def sizes():
        return tf.constant(5), tf.constant([8, 3])

    size, shape = tf.cond(tf.reduce_sum(x) > 0, sizes, sizes)
    other = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.constant(1), lambda: tf.constant(2))
    sums = tf.math.unsorted_segment_sum(x, tf.range(6) // 2, size)
    return [sums, tf.reshape(x, shape), x * tf.cast(other, tf.float32)]


@graph(NUMBERS, f32(6))
def limits_that_meet(i, weights):
    """The number of bins lies between equal limits, or is one of several."""
    exact = tf.math.bincount(i, weights=weights, minlength=6, maxlength=6)
    return [exact, tf.math.bincount(i, minlength=2, maxlength=9), tf.math.bincount(i, minlength=2, maxlength=4)]


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def convolutions_along_sizes(x, _):
    """Gradients of windows along the dimension that depends on data."""
    kernel = tf.reshape(tf.range(24.0) / 20, [2, 4, 3])
    square = tf.reshape(tf.range(12.0) / 10, [2, 2, 1, 3])
    losses = [
        tf.nn.conv1d(x[None], kernel, 1, "SAME") ** 2,
        tf.nn.conv1d(x[None], kernel, 2, "VALID") ** 2,
        tf.nn.conv1d(tf.stack([x, x * x]), kernel, 1, "SAME", dilations=2) ** 2,
        tf.nn.conv2d(tf.matmul(x, x, transpose_b=True)[None, :, :, None], square, 1, "SAME") ** 2,
    ]
    kernels = [kernel, kernel, kernel, square]
    return [tf.gradients(loss, [x, k]) for loss, k in zip(losses, kernels)]


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def strided_windows_along_sizes(x, _):
    """SAME padding with strides: elements in front follow from the actual size, here 4 and 3."""
    kernel = tf.reshape(tf.range(48.0) / 40, [3, 4, 4])
    square = tf.reshape(tf.range(36.0) / 30, [3, 3, 4, 1])
    results = []
    for y in (x[None], x[None, 1:]):
        windows = [tf.nn.conv1d(y, kernel, stride, "SAME") for stride in (2, 3)]
        pools = (tf.nn.avg_pool1d, tf.nn.max_pool1d)
        windows += [pool(y, 3, 2, padding) for pool in pools for padding in ("SAME", "VALID")]
        windows.append(tf.nn.depthwise_conv2d(tf.stack([y, y * y], 2), square, [1, 2, 2, 1], "SAME"))
        results.append(windows)
        results += [tf.gradients(tf.sin(z), [x, kernel, square][: 3 if k == 6 else 2]) for k, z in enumerate(windows)]
    return [r for r in tf.nest.flatten(results) if r is not None]


@graph(f32(6, 4), MASK, NUMBERS)
@rows
def paddings_by_sizes(x, i):
    """Padding to a fixed size, in front, and by as much as the data say."""
    n = tf.shape(x)[0]
    fixed = tf.pad(x, [[0, 8 - n], [1, 0]], constant_values=-1.0)
    middle = tf.pad(x, [[1, tf.maximum(0, 5 - n)], [0, 0]])
    losses = tf.gradients([tf.sin(fixed), tf.square(middle)], x)
    front = tf.pad(x, [[7 - n, 0], [0, 0]])
    turned = tf.pad(tf.transpose(x), [[0, 1], [0, 6 - n]])
    return [tf.stack([fixed, 2 * fixed]), middle, losses, front, tf.pad(i, [[n, n]]), turned]
