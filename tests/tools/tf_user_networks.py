"""Functional models of Keras 3 for check_tf_models.py, MODELS as in tf_models.py: layers of the user's own with loops
and branches, attention, recurrence, several inputs and results, every optimizer, and logits of networks that end in a
softmax."""

import keras
import numpy as np
import tensorflow as tf

from tf_keras_models import cross_entropy, squares, tracked
from tf_models import floats, prediction, spread, tokens, training
from tf_user_models import holding, signature

layers = keras.layers
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def net_of(shape, build, dtype="float32"):
    x = keras.Input(shape, dtype=dtype)
    return keras.Model(x, build(x))


# --- logits ---
def logits(name, size):
    def make():
        net = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10,
                                                classifier_activation=None)
        spread(net)
        return signature(holding(net=net), lambda image: {"logits": net(image, training=False)},
                         image=floats(2, size, size, 3, low=0, high=1))
    return make


for name, size in (("DenseNet169", 64), ("DenseNet201", 48), ("InceptionResNetV2", 80), ("EfficientNetB1", 64),
                   ("ConvNeXtSmall", 48),
                   ("ResNet101V2", 48), ("MobileNetV3Large", 64), ("NASNetMobile", 64)):
    MODELS[name.lower() + "_logits"] = logits(name, size)


# --- layers of the user's own ---
class Settled(layers.Layer):
    """A layer that repeats itself until its values settle."""

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], shape[-1]), name="w")

    def call(self, x):
        def body(i, y, _):
            new = tf.tanh(0.3 * y @ self.w + x)
            return i + 1, new, tf.reduce_max(tf.abs(new - y))
        return tf.while_loop(lambda i, _, change: (i < 20) & (change > 1e-3), body, [0, x, tf.constant(1.0)],
                             maximum_iterations=20)[1]


class Chosen(layers.Layer):
    """A layer that takes one of two ways by its input."""

    def build(self, shape):
        self.a = self.add_weight(shape=(shape[-1], 4), name="a")
        self.b = self.add_weight(shape=(shape[-1], 4), name="b")

    def call(self, x):
        return tf.cond(tf.reduce_mean(x) > 0, lambda: tf.nn.relu(x @ self.a), lambda: tf.sin(x @ self.b))


@model
def settled_layer_train():
    net = net_of((5,), lambda x: layers.Dense(2)(Settled()(layers.Dense(6)(x))))
    return training(net, keras.optimizers.Adam(1e-2), squares, floats(4, 5), floats(4, 2))


@model
def chosen_layer_train():
    net = net_of((5,), lambda x: layers.Dense(2)(Chosen()(layers.Dense(6)(x))))
    return training(net, keras.optimizers.RMSprop(1e-2, momentum=0.5), squares, floats(4, 5), floats(4, 2))


@keras.saving.register_keras_serializable("check_tf_models")
class HighwayCell(layers.Layer):
    """A recurrent cell of the user's own."""

    def __init__(self, units, **more):
        super().__init__(**more)
        self.units = self.state_size = units

    def get_config(self):
        return {**super().get_config(), "units": self.units}

    def build(self, shape):
        self.gate, self.value = layers.Dense(self.units, activation="sigmoid"), layers.Dense(self.units,
            activation="tanh")
        for part in (self.gate, self.value):
            part.build((None, shape[-1] + self.units))

    def call(self, x, states):
        both = tf.concat([x, states[0]], 1)
        gate = self.gate(both)
        h = gate * self.value(both) + (1 - gate) * states[0]
        return h, [h]


@model
def own_cell_train():
    recurrence = layers.Bidirectional(layers.RNN(HighwayCell(4), return_sequences=True))
    net = net_of((6, 3), lambda x: layers.Dense(2)(recurrence(x)))
    return training(net, keras.optimizers.Adamax(1e-2), squares, floats(4, 6, 3), floats(4, 6, 2))


class Relative(layers.Layer):
    """Attention with a bias by distance, and rotary positions."""

    def build(self, shape):
        self.project = layers.Dense(3 * shape[-1])
        self.project.build(shape)
        self.bias = self.add_weight(shape=(2, 2 * shape[1] - 1), name="bias")

    def rotate(self, x):
        half = x.shape[-1] // 2
        angle = tf.range(x.shape[1], dtype=tf.float32)[:, None] / 10.0 ** tf.linspace(0.0, 1.0, half)
        a, b = x[..., :half], x[..., half:]
        return tf.concat([a * tf.cos(angle) - b * tf.sin(angle), a * tf.sin(angle) + b * tf.cos(angle)], -1)

    def call(self, x):
        n, width = x.shape[1], x.shape[-1] // 2
        q, k, v = tf.split(self.project(x), 3, -1)
        distance = tf.range(n)[:, None] - tf.range(n) + n - 1
        parts = []
        for head in range(2):
            at = slice(head * width, (head + 1) * width)
            score = tf.einsum("bid,bjd->bij", self.rotate(q[..., at]), self.rotate(k[..., at])) / width ** 0.5
            score += tf.gather(self.bias[head], distance)
            score = tf.where(tf.linalg.band_part(tf.ones([n, n]), -1, 0) > 0, score, -1e9)
            parts.append(tf.nn.softmax(score) @ v[..., at])
        return tf.concat(parts, -1)


@model
def relative_attention_train():
    def build(x):
        y = layers.Embedding(11, 8)(x)
        return layers.Dense(11)(layers.LayerNormalization()(y + Relative()(y)))

    net = net_of((7,), build, "int32")
    return training(net, keras.optimizers.Lion(1e-3), cross_entropy, tokens(11, 3, 7), tokens(11, 3, 7))


# --- several inputs and results ---
@model
def several_inputs_and_results():
    text, numbers, image = keras.Input((6,), dtype="int32", name="text"), keras.Input((4,),
        name="numbers"), keras.Input((8, 8, 1), name="image")
    words = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(layers.Embedding(15, 4, mask_zero=True)(text))
    words = layers.GlobalMaxPooling1D()(words)
    seen = layers.Flatten()(layers.SeparableConv2D(3, 3, strides=2, depth_multiplier=2, activation="swish")(image))
    both = layers.Concatenate()([words, layers.Dense(4, activation="elu")(numbers), seen])
    deep = layers.Dropout(0.5)(layers.Dense(6, activation="softsign")(both))
    net = keras.Model([text, numbers, image], [layers.Dense(3, activation="softmax")(deep),
                                               layers.Dot(1)([deep, layers.Dense(6)(both)])])
    spread(net)

    def run(text, numbers, image):
        kinds, value = net([text, numbers, image], training=False)
        return {"kinds": kinds, "value": value}
    return signature(holding(net=net), run, text=tokens(15, 3, 6), numbers=floats(3, 4), image=floats(3, 8, 8, 1))


@model
def two_losses_train():
    x = keras.Input((10, 3))
    shared = layers.GRU(6, return_sequences=True)(layers.Conv1D(4, 3, padding="causal", dilation_rate=2)(x))
    net = keras.Model(x, [layers.TimeDistributed(layers.Dense(2))(shared),
                          layers.Dense(3)(layers.GlobalAveragePooling1D()(shared))])
    optimizer = keras.optimizers.Nadam(1e-2)
    optimizer.build(net.trainable_variables)

    def step(x, y, kind):
        with tf.GradientTape() as tape:
            a, b = net(x, training=True)
            loss = tf.reduce_mean(tf.abs(a - y)) + 0.3 * tf.reduce_mean(cross_entropy(kind, b))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return {"loss": loss}
    return signature(holding(net=net, optimizer=optimizer), step, x=floats(4, 10, 3), y=floats(4, 10, 2),
                     kind=tokens(3, 4))


@model
def siamese_train():
    tower = net_of((12, 12, 1), lambda x: layers.Dense(4)(layers.Flatten()(layers.MaxPooling2D()(layers.Conv2D(3, 3,
        activation="relu")(x)))))
    optimizer = keras.optimizers.Adagrad(1e-2)
    optimizer.build(tower.trainable_variables)

    def step(a, b, same):
        with tf.GradientTape() as tape:
            distance = tf.norm(tower(a) - tower(b) + 1e-6, axis=1)
            loss = tf.reduce_mean(same * distance ** 2 + (1 - same) * tf.maximum(0.0, 1 - distance) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, tower.trainable_variables), tower.trainable_variables))
        return {"loss": loss}
    return signature(holding(tower=tower, optimizer=optimizer), step, a=floats(4, 12, 12, 1),
                     b=floats(4, 12, 12, 1)[::-1].copy(),
                     same=np.array([0, 1, 1, 0], np.float32))


@model
def speech_network_train():
    """Waves to letters: spectra, convolutions, recurrence, and the loss of CTC."""
    net = net_of((None, 17), lambda x: layers.Dense(6)(layers.Bidirectional(layers.GRU(5,
        return_sequences=True))(layers.Conv1D(
        6, 3, strides=2, padding="same", activation="relu")(x))))
    optimizer = keras.optimizers.Adam(1e-2, clipnorm=1.0)
    optimizer.build(net.trainable_variables)

    def step(wave, labels, sizes):
        spectrum = tf.math.log(tf.abs(tf.signal.stft(wave, 32, 16, 32)) + 1e-2)
        with tf.GradientTape() as tape:
            scores = net(spectrum, training=True)
            frames = tf.fill([2], tf.shape(scores)[1])
            loss = tf.reduce_mean(tf.nn.ctc_loss(labels, scores, sizes, frames, logits_time_major=False, blank_index=5))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return {"loss": loss}
    return signature(holding(net=net, optimizer=optimizer), step, wave=floats(2, 320),
                     labels=np.array([[1, 2, 2], [4, 0, 0]], np.int32),
                     sizes=np.array([3, 1], np.int32))


@model
def convolutions_in_time_train():
    """A residual network of dilated convolutions, as WaveNet is."""
    def build(x):
        y, skips = layers.Conv1D(4, 1)(x), []
        for k in range(3):
            gate = layers.Conv1D(4, 2, dilation_rate=2 ** k, padding="causal", activation="sigmoid")(y)
            value = layers.Conv1D(4, 2, dilation_rate=2 ** k, padding="causal", activation="tanh")(y)
            z = layers.Multiply()([gate, value])
            skips.append(layers.Conv1D(4, 1)(z))
            y = layers.Add()([y, layers.Conv1D(4, 1)(z)])
        return layers.Dense(5)(layers.LeakyReLU()(layers.Average()(skips)))

    net = net_of((12, 1), build)
    return training(net, keras.optimizers.AdamW(1e-2, weight_decay=0.1), cross_entropy, floats(3, 12, 1),
                    tokens(5, 3, 12))


@model
def perceiver():
    """Attention of a few learned vectors to many inputs, by einsum layers."""
    class Queries(layers.Layer):
        def build(self, shape):
            self.q = self.add_weight(shape=(1, 4, shape[-1]), name="q")

        def call(self, x):
            return tf.repeat(self.q, tf.shape(x)[0], 0)

    def build(x):
        y = layers.EinsumDense("abc,cd->abd", (None, 8), bias_axes="d", activation="gelu")(x)
        q = Queries()(y)
        for _ in range(2):
            q = layers.LayerNormalization(rms_scaling=False)(q + layers.MultiHeadAttention(2, 4)(q, y))
            q = q + layers.EinsumDense("abc,cd->abd", (None, 8), activation="mish")(q)
        return layers.Flatten()(q)

    return prediction(net_of((20, 5), build), x=floats(3, 20, 5))


@model
def mixture_of_experts_train():
    """Each row goes to its two best experts, whose capacity is limited."""
    gate, experts = layers.Dense(3), [layers.Dense(4, activation="relu") for _ in range(3)]
    out = layers.Dense(2)
    for part in [gate] + experts:
        part.build((None, 4))
    out.build((None, 4))
    variables = [v for part in [gate, out] + experts for v in part.trainable_variables]
    optimizer = keras.optimizers.Adam(1e-2)
    optimizer.build(variables)

    def step(x, y):
        with tf.GradientTape() as tape:
            share = tf.nn.softmax(gate(x))
            best, which = tf.math.top_k(share, 2)
            chosen = tf.reduce_sum(tf.one_hot(which, 3) * best[..., None], 1)
            place = tf.cumsum(tf.cast(chosen > 0, tf.float32), 0)
            weight = tf.where(place <= 5, chosen, 0.0)
            mixed = tf.add_n([weight[:, k, None] * e(x) for k, e in enumerate(experts)])
            balance = 3 * tf.reduce_sum(tf.reduce_mean(share, 0) * tf.reduce_mean(tf.one_hot(which[:, 0], 3), 0))
            loss = tf.reduce_mean(tf.square(out(mixed) - y)) + 0.01 * balance
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": loss}
    return signature(holding(gate=gate, experts=experts, out=out, optimizer=optimizer), step, x=floats(8, 4),
                     y=floats(8, 2))


@model
def augmented_segmentation_train():
    def build(x):
        a = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
        b = layers.SpatialDropout2D(0.0)(layers.Conv2D(6, 3, strides=2, padding="same")(a))
        b = layers.GroupNormalization(2)(layers.PReLU(shared_axes=[1, 2])(b))
        up = layers.Conv2DTranspose(4, 3, strides=2, padding="same")(b)
        return layers.Conv2D(3, 1)(layers.Concatenate()([a, layers.UpSampling2D(interpolation="bilinear")(b), up]))

    net = net_of((8, 8, 2), build)
    optimizer = keras.optimizers.SGD(1e-2, momentum=0.9, nesterov=True, weight_decay=1e-3)
    optimizer.build(net.trainable_variables)

    def step(image, mask):
        image, mask = tf.image.flip_left_right(image), tf.reverse(mask, [2])
        with tf.GradientTape() as tape:
            share = tf.nn.softmax(net(image, training=True))
            truth = tf.one_hot(mask, 3)
            dice = 1 - (2 * tf.reduce_sum(share * truth, [1, 2]) + 1) / (tf.reduce_sum(share + truth, [1, 2]) + 1)
            loss = tf.reduce_mean(dice) + tf.reduce_mean(keras.losses.categorical_focal_crossentropy(truth, share))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return {"loss": loss}
    return signature(holding(net=net, optimizer=optimizer), step, image=floats(2, 8, 8, 2), mask=tokens(3, 2, 8, 8))


@model
def spectral_normalisation_train():
    net = net_of((6, 6, 2),
                 lambda x: layers.SpectralNormalization(layers.Dense(3))(layers.Flatten()(layers.SpectralNormalization(
        layers.Conv2D(3, 3))(x))))
    return tracked(training(net, keras.optimizers.Adam(1e-2), squares, floats(3, 6, 6, 2), floats(3, 3)))


# --- every optimizer, with schedules, on a network that has embeddings and a recurrence ---
def optimizer_of(name, **more):
    def make():
        net = net_of((5,), lambda x: layers.Dense(3)(layers.GRU(4)(layers.Embedding(9, 4)(x))), "int32")
        decay = keras.optimizers.schedules.CosineDecay(1e-2, 10, warmup_target=2e-2, warmup_steps=2)
        optimizer = getattr(keras.optimizers, name)(decay, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=2,
                                                    **more)
        return training(net, optimizer, cross_entropy, tokens(9, 4, 5), tokens(3, 4))
    return make


for name, more in (("Adadelta", {}), ("Adafactor", {"relative_step": False}), ("Adagrad", {}), ("Adam", {}),
                   ("Adamax", {}), ("AdamW", {}), ("Ftrl", {}),
                   ("Lion", {}), ("Nadam", {}), ("RMSprop", {"centered": True}), ("SGD", {"momentum": 0.9}),
                   ("Lamb", {}), ("Muon", {})):
    if hasattr(keras.optimizers, name):
        MODELS["scheduled_%s_train" % name.lower()] = optimizer_of(name, **more)
