"""Models of Keras 3 with layers, losses and steps that tf_user_models.py has not, for check_tf_models.py: MODELS as in
tf_models.py."""

import keras
import numpy as np
import tensorflow as tf

from tf_keras_models import cross_entropy, squares
from tf_models import floats, prediction, tokens, training
from tf_user_models import holding, signature

layers = keras.layers
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def net_of(shape, build, **more):
    x = keras.Input(shape, **more)
    return keras.Model(x, build(x))


@model
def convolutional_recurrence():
    net = net_of((4, 8, 8, 2), lambda x: layers.Conv2D(2, 1)(layers.ConvLSTM2D(4, 3, padding="same")(x)))
    return prediction(net, x=floats(2, 4, 8, 8, 2))


@model
def layers_of_shapes():
    def build(x):
        y = layers.Permute((2, 1))(layers.ZeroPadding1D(2)(x))
        y = layers.Cropping1D((1, 1))(layers.RepeatVector(4)(layers.Flatten()(y)))
        y = layers.Reshape((2, -1))(layers.UpSampling1D(3)(y))
        return layers.Flatten()(y)

    return prediction(net_of((5, 3), build), x=floats(2, 5, 3))


@model
def activations_of_all_kinds():
    names = [
        "celu",
        "elu",
        "exponential",
        "gelu",
        "glu",
        "hard_shrink",
        "hard_sigmoid",
        "hard_silu",
        "hard_tanh",
        "leaky_relu",
        "log_sigmoid",
        "log_softmax",
        "mish",
        "relu6",
        "selu",
        "silu",
        "soft_shrink",
        "softplus",
        "softsign",
        "sparse_plus",
        "sparsemax",
        "squareplus",
        "tanh_shrink",
    ]
    found = [getattr(keras.activations, n) for n in names if hasattr(keras.activations, n)]
    return signature(tf.Module(), lambda x: {"y%02d" % i: f(x) for i, f in enumerate(found)}, x=floats(3, 6))


@model
def losses_of_all_kinds():
    z = keras.losses
    dense = [
        z.MeanSquaredError(),
        z.MeanAbsoluteError(),
        z.MeanAbsolutePercentageError(),
        z.MeanSquaredLogarithmicError(),
        z.CosineSimilarity(),
        z.Huber(),
        z.LogCosh(),
        z.Poisson(),
        z.KLDivergence(),
        z.Hinge(),
        z.SquaredHinge(),
        z.CategoricalHinge(),
        z.BinaryCrossentropy(label_smoothing=0.1),
        z.CategoricalCrossentropy(),
        z.CategoricalFocalCrossentropy(),
        z.Dice(),
        z.Tversky(),
    ]

    def run(y, p):
        with tf.GradientTape() as tape:
            tape.watch(p)
            q = tf.nn.softmax(p)
            values = [f(tf.nn.softmax(y), q) for f in dense]
            total = tf.add_n(values)
        return {"gradient": tape.gradient(total, p), **{"l%02d" % i: v for i, v in enumerate(values)}}

    return signature(tf.Module(), run, y=floats(4, 5), p=floats(4, 5))


@model
def pooling_of_all_kinds_train():
    def build(x):
        a = layers.AveragePooling2D(3, 2, "same")(x)
        b = layers.MaxPooling2D(3, 2, "same")(x)
        y = layers.Maximum()([a, b]) + layers.Average()([a, b]) - layers.Minimum()([a, b])
        y = layers.Dot(-1)([layers.Reshape((36, 4))(y), layers.Reshape((36, 4))(layers.Multiply()([a, b]))])
        return layers.Dense(2)(layers.GlobalMaxPooling1D()(y))

    return training(net_of((12, 12, 4), build), keras.optimizers.Nadam(1e-3), squares, floats(3, 12, 12, 4),
                    floats(3, 2))


@model
def volume_network_train():
    def build(x):
        y = layers.Conv3D(4, 3, padding="same", activation="relu")(x)
        y = layers.Conv3DTranspose(3, 2, 2)(layers.MaxPooling3D(2)(y))
        y = layers.Cropping3D(1)(layers.ZeroPadding3D(1)(y))
        return layers.Dense(2)(layers.GlobalAveragePooling3D()(layers.SpatialDropout3D(0.0)(y)))

    return training(net_of((6, 6, 6, 2), build), keras.optimizers.Adam(1e-3), squares, floats(2, 6, 6, 6, 2),
                    floats(2, 2))


@model
def depthwise_and_dilated_train():
    def build(x):
        y = layers.DepthwiseConv2D(3, depth_multiplier=2, padding="same")(x)
        y = layers.Conv2D(6, 3, dilation_rate=2, groups=2, padding="same")(y)
        y = layers.PReLU(shared_axes=[1, 2])(layers.BatchNormalization(momentum=0.8)(y))
        y = layers.SeparableConv1D(5, 3)(layers.Reshape((64, 6))(y))
        return layers.Dense(3)(layers.DepthwiseConv1D(3, 2)(y)[:, 0])

    return training(net_of((8, 8, 2), build), keras.optimizers.RMSprop(1e-3), cross_entropy, floats(3, 8, 8, 2),
                    tokens(3, 3))


@model
def group_query_decoder_train():
    """Causal attention with shared keys, rotated by positions, and RMS norms."""

    def rotate(x):
        half = x.shape[-1] // 2
        angle = tf.range(7, dtype=tf.float32)[:, None] * tf.pow(10.0, -tf.range(half, dtype=tf.float32) / half)[None]
        a, b = x[..., :half], x[..., half:]
        return tf.concat([a * tf.cos(angle) - b * tf.sin(angle), a * tf.sin(angle) + b * tf.cos(angle)], -1)

    class Rotate(layers.Layer):
        def call(self, x):
            return rotate(x)

    def build(x):
        y = layers.Embedding(30, 16)(x)
        h = layers.RMSNormalization()(y) if hasattr(layers, "RMSNormalization") else layers.LayerNormalization()(y)
        y = y + layers.GroupQueryAttention(4, 4, 2)(Rotate()(h), h, use_causal_mask=True)
        gate = layers.Dense(24, activation="silu")(y) * layers.Dense(24)(y)
        return layers.Dense(30)(layers.Dense(16)(gate) + y)

    return training(
        net_of((7,), build, dtype="int32"), keras.optimizers.Lion(1e-3), cross_entropy, tokens(30, 2, 7),
        tokens(30, 2, 7)
    )


@model
def time_distributed_train():
    def build(x):
        y = layers.TimeDistributed(layers.Conv2D(3, 3, activation="relu"))(x)
        y = layers.TimeDistributed(layers.GlobalAveragePooling2D())(y)
        y = layers.Bidirectional(layers.LSTM(4, return_sequences=True), merge_mode="sum")(layers.Masking()(y))
        return layers.Dense(2)(layers.SimpleRNN(3, activation="relu")(y))

    return training(
        net_of((3, 6, 6, 2), build),
        keras.optimizers.SGD(1e-2, nesterov=True, momentum=0.9),
        squares,
        floats(2, 3, 6, 6, 2),
        floats(2, 2),
    )


@model
def schedule_and_accumulation_train():
    """A rate that falls with warm-up, gradients of two steps together, weights kept as means."""
    schedule = keras.optimizers.schedules.CosineDecay(1e-3, 10, warmup_target=1e-2, warmup_steps=2)
    net = net_of((4,), lambda x: layers.Dense(2)(layers.Dense(6, activation="tanh", kernel_constraint="max_norm")(x)))
    return training(
        net,
        keras.optimizers.AdamW(schedule, gradient_accumulation_steps=2, use_ema=True, ema_overwrite_frequency=None),
        squares,
        floats(5, 4),
        floats(5, 2),
    )


@model
def contrastive_train():
    """Two views, normalised, against all others of the batch; the teacher follows by means."""
    student = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(4)])
    teacher = keras.models.clone_model(student)
    optimizer = keras.optimizers.Adam(1e-2)
    optimizer.build(student.trainable_variables)

    def step(a, b):
        with tf.GradientTape() as tape:
            u, v = tf.math.l2_normalize(student(a), 1), tf.stop_gradient(tf.math.l2_normalize(teacher(b), 1))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(5),
                                                                                 u @ tf.transpose(v) / 0.2))
        optimizer.apply_gradients(zip(tape.gradient(loss, student.trainable_variables), student.trainable_variables))
        for t, s in zip(teacher.variables, student.variables):
            t.assign(0.9 * t + 0.1 * s)
        return {"loss": loss}

    return signature(holding(student=student, teacher=teacher, optimizer=optimizer), step, a=floats(5, 6),
                     b=floats(5, 6))


@model
def detector_with_suppression():
    """Boxes of a grid, decoded, filtered by score, suppressed and padded."""
    net = net_of(
        (16, 16, 3), lambda x: layers.Conv2D(6, 3, 4, padding="same")(layers.Conv2D(8, 3, activation="relu",
                                                                                    padding="same")(x))
    )

    def detect(image):
        y = tf.reshape(net(image)[0], [16, 6])
        centre = tf.cast(tf.stack(tf.meshgrid(tf.range(4), tf.range(4), indexing="ij"), -1), tf.float32)
        centre = tf.reshape(centre, [16, 2]) * 4 + 2 + y[:, :2]
        size = tf.exp(y[:, 2:4] * 0.2) * 6
        boxes = tf.concat([centre - size / 2, centre + size / 2], 1)
        scores = tf.sigmoid(tf.reduce_max(y[:, 4:], 1))
        kept = tf.image.non_max_suppression(boxes, scores, 8, 0.4, 0.3)
        chosen = tf.gather(boxes, kept)
        return {
            "boxes": chosen,
            "count": tf.shape(kept)[0],
            "scores": tf.gather(scores, kept),
            "strong": tf.reduce_sum(tf.boolean_mask(scores, scores > 0.5)),
        }

    return signature(holding(net=net), detect, image=floats(1, 16, 16, 3))


@model
def masked_language_train():
    """Only the masked places count, as many as the data say."""
    net = net_of(
        (8,), lambda x: layers.Dense(20)(layers.Dense(12, activation="gelu")(layers.Embedding(20, 12)(x))),
        dtype="int32"
    )
    optimizer = keras.optimizers.Adam(1e-2)
    optimizer.build(net.trainable_variables)

    def step(ids, mask):
        hidden = tf.cast(mask, tf.bool)
        with tf.GradientTape() as tape:
            logits = tf.boolean_mask(net(tf.where(hidden, 0, ids), training=True), hidden)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.boolean_mask(ids, hidden), logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return {"loss": loss, "masked": tf.reduce_sum(mask)}

    return signature(holding(net=net, optimizer=optimizer), step, ids=tokens(20, 3, 8), mask=tokens(2, 3, 8))


@model
def actor_and_critic_train():
    """A clipped policy gradient with generalised advantages, which a reversed scan sums."""
    net = net_of((4,), lambda x: layers.Dense(4)(layers.Dense(8, activation="tanh")(x)))
    optimizer = keras.optimizers.Adam(1e-2)
    optimizer.build(net.trainable_variables)

    def step(state, action, reward, old):
        with tf.GradientTape() as tape:
            y = net(state)
            value, logits = y[:, 0], tf.nn.log_softmax(y[:, 1:])
            delta = reward + 0.9 * tf.concat([value[1:], [0.0]], 0) - value
            advantage = tf.stop_gradient(tf.scan(lambda a, d: d + 0.8 * a, delta, reverse=True))
            ratio = tf.exp(tf.gather(logits, action, batch_dims=1) - old)
            policy = -tf.reduce_mean(tf.minimum(ratio * advantage, tf.clip_by_value(ratio, 0.8, 1.2) * advantage))
            entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(logits) * logits, 1))
            loss = policy + 0.5 * tf.reduce_mean((advantage + tf.stop_gradient(value) - value) ** 2) - 0.01 * entropy
        grads, norm = tf.clip_by_global_norm(tape.gradient(loss, net.trainable_variables), 0.5)
        optimizer.apply_gradients(zip(grads, net.trainable_variables))
        return {"loss": loss, "norm": norm}

    return signature(
        holding(net=net, optimizer=optimizer),
        step,
        state=floats(6, 4),
        action=tokens(3, 6),
        reward=floats(6),
        old=floats(6, low=-1.5, high=-0.5),
    )


@model
def numpy_of_keras():
    """keras.ops as NumPy: linear algebra, sorting, indexing, images."""
    ops = keras.ops

    def run(x):
        s = ops.matmul(x, ops.transpose(x)) + 3 * ops.eye(5)
        q, r = ops.qr(s)
        image = ops.reshape(x, (1, 5, 4, 1))
        return {
            "a": ops.cholesky(s),
            "b": ops.solve(s, x),
            "c": ops.matmul(q, r),
            "d": ops.det(s),
            "e": ops.linalg.eigh(s)[0],
            "f": ops.argsort(x, 1),
            "g": ops.take_along_axis(x, ops.argsort(x, 1), 1),
            "h": ops.image.resize(image, (8, 8)),
            "i": ops.cumsum(x, 0),
            "j": ops.diff(x, axis=1),
            "k": ops.logaddexp(x, x * 2),
            "l": ops.top_k(x, 2)[0],
            "m": ops.where(x > 0, x, ops.sqrt(ops.abs(x))),
            "n": ops.tensordot(x, x, [[0], [0]]),
            "o": ops.bincount(ops.cast(ops.abs(x[0]) * 3, "int32"), minlength=4),
            "p": ops.digitize(x, [-0.5, 0.0, 0.5]),
            "q": ops.erf(x),
            "r": ops.slice_update(x, (1, 1), ops.zeros((2, 2))),
            "s": ops.scatter(ops.convert_to_tensor([[1], [3]]), x[:2], (6, 4)),
            "t": ops.mean(x, 0),
            "u": ops.unstack(x, axis=1)[2],
            "v": ops.norm(x, axis=1),
            "w": ops.average(x, 0, ops.arange(5, dtype="float32")),
            "x": ops.meshgrid(x[0], x[1])[1],
            "y": ops.extract_sequences(x, 2, 1),
        }

    return signature(tf.Module(), run, x=floats(5, 4))


@model
def older_keras_train():
    """Keras 2, whose optimizers and LSTM are other ones."""
    import tf_keras
    net = tf_keras.Sequential([tf_keras.layers.LSTM(6, input_shape=(5, 3), return_sequences=True),
                               tf_keras.layers.GRU(5),
                               tf_keras.layers.BatchNormalization(), tf_keras.layers.Dense(2)])
    optimizer = tf_keras.optimizers.legacy.Adam(1e-2)
    net(floats(4, 5, 3))
    optimizer._create_all_weights(net.trainable_variables)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(x, training=True) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return {"loss": loss}
    return signature(holding(net=net, optimizer=optimizer), step, x=floats(4, 5, 3), y=floats(4, 2))


@model
def preprocessing_of_features():
    a, b = keras.Input((1,)), keras.Input((1,), dtype="int32")
    numbers = layers.Discretization(bin_boundaries=[-0.5, 0.0, 0.5])(a)
    hot = layers.CategoryEncoding(5, output_mode="one_hot")(b)
    y = layers.Concatenate()([layers.Flatten()(layers.Embedding(4, 3)(numbers)), hot, layers.Rescaling(2.0)(a)])
    net = keras.Model([a, b], layers.Dense(2)(y))
    return signature(holding(net=net), lambda a, b: {"y": net([a, b])}, a=floats(5, 1), b=tokens(5, 5, 1))


@model
def operations_of_keras():
    """keras.ops: scans, loops, sorted sums."""
    ops = keras.ops

    def run(x):
        carry, ys = ops.scan(lambda c, v: (c * 0.9 + v, c), ops.zeros((4,)), x)
        linear = ops.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (ops.sigmoid(x), x))[1]
        n, total = ops.while_loop(lambda n, t: n < 5, lambda n, t: (n + 1, t + x[n]), (0, ops.zeros((4,))))
        power = ops.fori_loop(0, 3, lambda i, v: ops.tanh(v) + x[i], x[0])
        choice = ops.cond(ops.sum(x) > 0, lambda: ops.sort(x, 0), lambda: ops.flip(x, 0))
        return {"a": carry, "b": ys, "c": linear, "d": total, "e": power, "f": choice, "g": ops.logsumexp(x, 1),
                "h": ops.vectorized_map(lambda r: ops.outer(r, r), x),
                "i": ops.segment_sum(x, ops.convert_to_tensor([0, 0, 1, 2, 2, 2]), 3),
                "j": ops.nn.one_hot(ops.argmax(x, 1), 4), "k": ops.einsum("ij,kj->ik", x, x),
                "l": ops.median(x, 1), "m": ops.quantile(x, 0.3, 0),
                "n": ops.roll(ops.tril(ops.matmul(x, ops.transpose(x))), 1, 0)}
    return signature(tf.Module(), run, x=floats(6, 4))
