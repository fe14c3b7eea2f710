"""Modules as a user of TensorFlow and Keras writes them, for check_tf_models.py: MODELS as in tf_models.py. Weights
are random."""
import keras
import numpy as np
import tensorflow as tf

from tf_keras_models import cross_entropy, squares, tracked
from tf_models import floats, prediction, tokens, training, transformer

layers = keras.layers
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def signature(module, function, **inputs):
    """A function of a module on inputs of a fixed batch."""
    spec = [tf.TensorSpec(x.shape, x.dtype, name) for name, x in inputs.items()]
    return module, tf.function(function, input_signature=spec), inputs


def holding(**parts):
    module = tf.Module()
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def dense(*widths, last=None, inputs=4):
    return keras.Sequential([keras.Input((inputs,))] + [layers.Dense(w,
                                                                     activation="tanh") for w in widths] +
                                                                     ([layers.Dense(last)] if last else []))


# --- optimizers ---
def optimizer_step(name, **more):
    def make():
        return training(dense(8, last=2), getattr(keras.optimizers, name)(1e-2, **more), squares, floats(6, 4),
                        floats(6, 2))
    return make


for name, more in (("Adadelta", {}), ("Adafactor", {}), ("Adagrad", {}), ("Adam", {"amsgrad": True, "clipvalue": 0.1}),
                   ("Adamax", {}), ("AdamW", {}),
                   ("Ftrl", {"l1_regularization_strength": 0.01}), ("Lion", {}), ("Nadam", {"use_ema": True}),
                   ("RMSprop", {"centered": True, "momentum": 0.5}),
                   ("SGD", {"momentum": 0.9, "global_clipnorm": 0.1}), ("Muon", {})):
    if hasattr(keras.optimizers, name):
        MODELS["optimizer_%s_train" % name.lower()] = optimizer_step(name, **more)


@model
def loss_scale_train():
    """float16 with a scale that doubles and halves."""
    policy = keras.mixed_precision.DTypePolicy("mixed_float16")
    net = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="relu", dtype=policy),
                            layers.Dense(2, dtype="float32")])
    inner = keras.optimizers.SGD(1e-2)
    optimizer = keras.optimizers.LossScaleOptimizer(inner, initial_scale=4.0, dynamic_growth_steps=2)
    module = holding(net=net, optimizer=optimizer)
    optimizer.build(net.trainable_variables)

    def step(x, y):
        with tf.GradientTape() as tape:
            value = tf.reduce_mean(tf.square(net(x, training=True) - y))
            scaled = optimizer.scale_loss(value)
        optimizer.apply_gradients(zip(tape.gradient(scaled, net.trainable_variables), net.trainable_variables))
        return {"loss": value}
    return signature(module, step, x=floats(6, 4), y=floats(6, 2))


@model
def bfloat16_train():
    policy = keras.mixed_precision.DTypePolicy("mixed_bfloat16")
    net = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(4, 3, dtype=policy),
                            layers.BatchNormalization(dtype=policy),
                            layers.Flatten(), layers.Dense(2, dtype="float32")])
    return training(net, keras.optimizers.SGD(1e-3), squares, floats(6, 8, 8, 3), floats(6, 2))


@model
def float16_transformer():
    keras.mixed_precision.set_dtype_policy("mixed_float16")
    try:
        net = transformer(50, 10, 16, 1, True)
    finally:
        keras.mixed_precision.set_dtype_policy("float32")
    return prediction(net, ids=tokens(50, 2, 10))


# --- steps by hand ---
@model
def penalised_critic_train():
    """A Wasserstein critic: the gradient's norm is part of the loss."""
    critic = dense(8, last=1)
    optimizer = keras.optimizers.Adam(1e-3, beta_1=0.0, beta_2=0.9)
    optimizer.build(critic.trainable_variables)

    def step(real, fake):
        with tf.GradientTape() as tape:
            middle = 0.3 * real + 0.7 * fake
            with tf.GradientTape() as inner:
                inner.watch(middle)
                score = critic(middle, training=True)
            norm = tf.sqrt(tf.reduce_sum(tf.square(inner.gradient(score, middle)), 1) + 1e-12)
            loss = tf.reduce_mean(critic(fake, training=True)) - tf.reduce_mean(critic(real,
                training=True)) + 10 * tf.reduce_mean((norm - 1) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
        return {"loss": loss, "norm": norm}
    return signature(holding(critic=critic, optimizer=optimizer), step, real=floats(5, 4), fake=floats(5, 4) * 0.5)


@model
def autoencoder_train():
    """Variational, with random numbers by a counter that the model keeps."""
    encoder, decoder = dense(8, last=4, inputs=6), dense(8, last=6, inputs=2)
    optimizer = keras.optimizers.Adam(1e-2)
    both = encoder.trainable_variables + decoder.trainable_variables
    optimizer.build(both)
    counter = tf.Variable(0, dtype=tf.int32)

    def step(x):
        counter.assign_add(1)
        with tf.GradientTape() as tape:
            mean, log_variance = tf.split(encoder(x), 2, 1)
            z = mean + tf.exp(log_variance / 2) * tf.random.stateless_normal([5, 2], tf.stack([counter, 7]))
            rebuilt = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(tf.nn.sigmoid(x), decoder(z)), 1)
            loss = tf.reduce_mean(rebuilt - 0.5 * tf.reduce_sum(1 + log_variance - mean ** 2 - tf.exp(log_variance), 1))
        optimizer.apply_gradients(zip(tape.gradient(loss, both), both))
        return {"loss": loss}
    return signature(holding(encoder=encoder, decoder=decoder, optimizer=optimizer, counter=counter), step,
                     x=floats(5, 6))


@model
def actor_critic_train():
    """Proximal policy optimisation: advantages by a backward scan, several epochs over one batch."""
    policy, value = dense(8, last=3), dense(8, last=1)
    optimizer = keras.optimizers.Adam(1e-2)
    both = policy.trainable_variables + value.trainable_variables
    optimizer.build(both)

    def step(states, actions, rewards):
        values = tf.squeeze(value(states), 1)
        deltas = rewards + 0.9 * tf.concat([values[1:], [0.0]], 0) - values
        advantage = tf.stop_gradient(tf.scan(lambda a, d: d + 0.9 * 0.95 * a, deltas, tf.constant(0.0), reverse=True))
        returns = tf.stop_gradient(advantage + values)
        old = tf.stop_gradient(tf.gather(tf.nn.log_softmax(policy(states)), actions, batch_dims=1))
        loss = tf.constant(0.0)
        for _ in tf.range(3):
            with tf.GradientTape() as tape:
                logs = tf.nn.log_softmax(policy(states))
                ratio = tf.exp(tf.gather(logs, actions, batch_dims=1) - old)
                gain = tf.minimum(ratio * advantage, tf.clip_by_value(ratio, 0.8, 1.2) * advantage)
                entropy = -tf.reduce_sum(tf.exp(logs) * logs, 1)
                loss = tf.reduce_mean(-gain + 0.5 * tf.square(tf.squeeze(value(states), 1) - returns) - 0.01 * entropy)
            optimizer.apply_gradients(zip(tape.gradient(loss, both), both))
        return {"loss": loss}
    return signature(holding(policy=policy, value=value, optimizer=optimizer), step, states=floats(7, 4),
                     actions=tokens(3, 7), rewards=floats(7))


@model
def target_network_train():
    """Q learning: the target follows every second step."""
    net, target = dense(8, last=3), dense(8, last=3)
    optimizer = keras.optimizers.RMSprop(1e-3)
    optimizer.build(net.trainable_variables)
    steps = tf.Variable(0, dtype=tf.int64)

    def step(state, action, reward, after):
        best = tf.argmax(net(after), 1)
        goal = reward + 0.9 * tf.gather(target(after), best, batch_dims=1)
        with tf.GradientTape() as tape:
            q = tf.reduce_sum(net(state) * tf.one_hot(action, 3), 1)
            loss = tf.reduce_mean(keras.losses.huber(tf.stop_gradient(goal)[:, None], q[:, None]))
        grads = [tf.clip_by_norm(g, 1.0) for g in tape.gradient(loss, net.trainable_variables)]
        optimizer.apply_gradients(zip(grads, net.trainable_variables))
        steps.assign_add(1)
        if steps % 2 == 0:
            for a, b in zip(target.variables, net.variables):
                a.assign(b)
        return {"loss": loss}
    return signature(holding(net=net, target=target, optimizer=optimizer, steps=steps), step, state=floats(6, 4),
                     action=tokens(3, 6), reward=floats(6),
                     after=floats(6, 4))


@model
def accumulated_train():
    """Gradients of two steps are added, then applied, in a branch."""
    w, total, n = tf.Variable(floats(4, 2)), tf.Variable(tf.zeros([4, 2])), tf.Variable(0)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w - y))
        total.assign_add(tape.gradient(loss, w))
        n.assign_add(1)

        def apply():
            w.assign_sub(0.1 * total / 2)
            total.assign(tf.zeros_like(total))
            return 0
        tf.cond(tf.equal(n % 2, 0), apply, lambda: 1)
        return {"loss": loss}
    return signature(holding(w=w, total=total, n=n), step, x=floats(6, 4), y=floats(6, 2))


@model
def averaged_train():
    """Exponential moving averages with TensorFlow's class."""
    w = tf.Variable(floats(4, 2))
    average = tf.train.ExponentialMovingAverage(0.9)
    average.apply([w])
    shadow = average.average(w)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        average.apply([w])
        return {"loss": loss, "average": tf.identity(shadow)}
    return signature(holding(w=w, shadow=shadow), step, x=floats(6, 4), y=floats(6, 2))


@model
def two_towers_train():
    """Sparse gradients of two tables, sampled negatives within the batch."""
    users, items = layers.Embedding(30, 8), layers.Embedding(20, 8)
    users.build(), items.build()
    optimizer = keras.optimizers.Adagrad(0.1)
    both = users.trainable_variables + items.trainable_variables
    optimizer.build(both)

    def step(user, item):
        with tf.GradientTape() as tape:
            logits = tf.math.l2_normalize(users(user), 1) @ tf.transpose(tf.math.l2_normalize(items(item), 1)) / 0.1
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(6), logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, both), both))
        return {"loss": loss}
    return signature(holding(users=users, items=items, optimizer=optimizer), step, user=tokens(30, 6),
                     item=tokens(20, 6))


def sparse_step(name):
    """Rows of a variable by tf.gather, updated by the optimizer's scatters."""
    def make():
        table = tf.Variable(floats(12, 5), name="table")
        optimizer = getattr(keras.optimizers, name)(0.05)
        optimizer.build([table])

        def step(ids, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1) - y))
            grads = tape.gradient(loss, [table])
            optimizer.apply_gradients(zip(grads, [table]))
            return {"loss": loss}
        return signature(holding(table=table, optimizer=optimizer), step, ids=tokens(12, 4, 3), y=floats(4, 5))
    return make


for name in ("SGD", "Adam", "RMSprop", "Adagrad", "Lamb"):
    MODELS["sparse_%s_train" % name.lower()] = sparse_step(name)


@model
def low_rank_adapter_train():
    net = transformer(40, 8, 16, 1, True)
    for layer in net._flatten_layers():
        if isinstance(layer, layers.Dense):
            layer.enable_lora(2)
    return training(net, keras.optimizers.AdamW(1e-3), cross_entropy, tokens(40, 3, 8), tokens(40, 3, 8))


@model
def train_step_of_keras_train():
    """fit()'s own step, with metrics and regularisers."""
    net = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu", kernel_regularizer="l2"),
                            layers.BatchNormalization(),
                            layers.Dropout(0.2, seed=3), layers.Dense(3, activation="softmax")])
    net.compile(optimizer=keras.optimizers.Adam(1e-2), loss="sparse_categorical_crossentropy",
                metrics=["accuracy", keras.metrics.Mean(name="mean_output")][:1])
    net.train_on_batch(floats(5, 6), tokens(3, 5))
    module = holding(net=net, optimizer=net.optimizer)
    module.metrics = [v.value for m in net.metrics for v in m.variables]

    def step(x, y):
        logs = net.train_step((x, y))
        return {"loss": tf.convert_to_tensor(logs["loss"])}
    return tracked(signature(module, step, x=floats(5, 6), y=tokens(3, 5)))


@model
def metrics_train():
    net = dense(8, last=1)
    mean, curve, kinds = keras.metrics.Mean(), keras.metrics.AUC(num_thresholds=11), keras.metrics.BinaryAccuracy()
    probe = tf.constant([[0.0], [1.0]])
    for m in (curve, kinds):
        m.update_state(probe, probe)
        m.reset_state()
    mean.update_state(0.0)
    mean.reset_state()

    def step(x, y):
        p = tf.sigmoid(net(x))
        label = tf.cast(y, tf.float32)[:, None]
        mean.update_state(keras.losses.binary_crossentropy(label, p))
        curve.update_state(label, p)
        kinds.update_state(label, p)
        return {"accuracy": kinds.result(), "curve": curve.result(), "loss": mean.result()}
    states = [v.value for m in (mean, curve, kinds) for v in m.variables]
    return signature(holding(net=net, states=states), step, x=floats(8, 4), y=tokens(2, 8))


# --- recurrent networks ---
@model
def masked_recurrent_train():
    x = keras.Input((7,), dtype="int32")
    y = layers.Embedding(20, 6, mask_zero=True)(x)
    y = layers.Bidirectional(layers.GRU(6, return_sequences=True))(y)
    net = keras.Model(x, layers.Dense(3)(layers.LSTM(5, recurrent_dropout=0.0)(y)))
    return training(net, keras.optimizers.Adam(1e-2), cross_entropy, tokens(20, 4, 7), tokens(3, 4))


@model
def stacked_cells_train():
    x = keras.Input((6, 3))
    cells = [layers.LSTMCell(5), layers.GRUCell(4, reset_after=False), layers.SimpleRNNCell(3)]
    net = keras.Model(x, layers.Dense(2)(layers.RNN(cells, go_backwards=True)(x)))
    return training(net, keras.optimizers.SGD(1e-2), squares, floats(4, 6, 3), floats(4, 2))


@model
def stateful_recurrent_train():
    """The state of one step is that of the next."""
    net = keras.Sequential([keras.Input((5, 3), batch_size=4), layers.LSTM(6, stateful=True), layers.Dense(2)])
    module, step, inputs = training(net, keras.optimizers.Adam(1e-2), squares, floats(4, 5, 3), floats(4, 2))
    return module, tf.function(step.python_function, input_signature=[tf.TensorSpec(v.shape, v.dtype, n) for n,
                                                                      v in inputs.items()]), inputs


@model
def recurrent_dropout_train():
    net = keras.Sequential([keras.Input((5, 3)), layers.LSTM(6, dropout=0.2, recurrent_dropout=0.3, seed=4),
                            layers.Dense(2)])
    return tracked(training(net, keras.optimizers.Adam(1e-2), squares, floats(4, 5, 3), floats(4, 2)))


@model
def seq2seq_train():
    """Encoder and decoder with attention, in subclasses of Keras' model."""
    class Translator(keras.Model):
        def __init__(self):
            super().__init__()
            self.source, self.target = layers.Embedding(30, 8), layers.Embedding(30, 8)
            self.encoder = layers.GRU(8, return_sequences=True, return_state=True)
            self.decoder = layers.GRU(8, return_sequences=True)
            self.attention = layers.AdditiveAttention()
            self.out = layers.Dense(30)

        def call(self, ids, training=False):
            memory, state = self.encoder(self.source(ids))
            y = self.decoder(self.target(ids[:, ::-1]), initial_state=state)
            return self.out(tf.concat([y, self.attention([y, memory])], 2))
    net = Translator()
    net(tokens(30, 3, 6))
    return training(net, keras.optimizers.Adam(1e-2), cross_entropy, tokens(30, 3, 6), tokens(30, 3, 6))


@model
def generator_with_cache():
    """Keys and values in variables, one token after another; sampled by stateless numbers."""
    table, qkv, out = tf.Variable(floats(20, 8)), tf.Variable(floats(8, 24)), tf.Variable(floats(8, 20))
    cache = tf.Variable(tf.zeros([2, 2, 9, 8]))

    def generate(first, seed):
        token = first
        tokens_out = tf.TensorArray(tf.int32, 8, element_shape=[2])
        for t in tf.range(8):
            q, k, v = tf.split(tf.gather(table, token) @ qkv, 3, 1)
            at = tf.one_hot(t, 9)[None, :, None]
            cache.assign(cache * (1 - at) + at * tf.stack([k, v])[:, :, None])
            score = tf.where(tf.range(9)[None] <= t, tf.einsum("bd,btd->bt", q, cache[0]), -1e9)
            logits = tf.einsum("bt,btd->bd", tf.nn.softmax(score), cache[1]) @ out
            top = tf.math.top_k(logits, 5)[0][:, -1:]
            logits = tf.where(logits < top, -1e9, logits)
            token = tf.random.stateless_categorical(logits, 1, seed + [0, t], tf.int32)[:, 0]
            tokens_out = tokens_out.write(t, token)
        return {"tokens": tf.transpose(tokens_out.stack())}
    return signature(holding(table=table, qkv=qkv, out=out, cache=cache), generate, first=tokens(20, 2),
                     seed=np.array([3, 4], np.int32))


# --- networks ---
@model
def text_network_train():
    x = keras.Input((12,), dtype="int32")
    y = layers.SpatialDropout1D(0.1, seed=2)(layers.Embedding(40, 8)(x))
    y = layers.Concatenate()([layers.GlobalMaxPooling1D()(layers.Conv1D(4, k, activation="relu")(y)) for k in (2, 3,
        4)])
    return tracked(training(keras.Model(x, layers.Dense(3)(y)), keras.optimizers.Adam(1e-2), cross_entropy,
                            tokens(40, 4, 12), tokens(3, 4)))


@model
def patches_train():
    """A vision transformer with dropout of whole paths."""
    x = keras.Input((16, 16, 3))
    y = layers.Reshape((16, 16))(layers.Conv2D(16, 4, 4)(x))
    y = y + layers.Embedding(16, 16)(tf.range(16)[None])
    a = layers.MultiHeadAttention(2, 8, dropout=0.1, seed=1)(layers.LayerNormalization()(y),
                                                             layers.LayerNormalization()(y))
    y = y + layers.Dropout(0.2, noise_shape=(None, 1, 1), seed=6)(a)
    y = y + layers.Dense(16, activation="gelu")(layers.LayerNormalization()(y))
    return tracked(training(keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling1D()(y))),
                            keras.optimizers.AdamW(1e-3), cross_entropy,
                            floats(4, 16, 16, 3), tokens(5, 4)))


@model
def normalised_train():
    x = keras.Input((12, 12, 4))
    y = layers.SpectralNormalization(layers.Conv2D(8, 3))(x)
    y = layers.LeakyReLU()(layers.GroupNormalization(4)(y))
    y = layers.UnitNormalization()(layers.Conv2DTranspose(4, 3, 2)(y))
    y = layers.LayerNormalization(axis=[1, 2])(layers.AveragePooling2D(3)(y))
    net = keras.Model(x, layers.Dense(3)(layers.Flatten()(y)))
    return training(net, keras.optimizers.Adam(1e-3), cross_entropy, floats(3, 12, 12, 4), tokens(3, 3))


@model
def one_stage_detector_train():
    """Boxes and classes of a grid with focal and box losses."""
    x = keras.Input((16, 16, 3))
    y = layers.SeparableConv2D(8, 3, 2, padding="same", activation="swish")(x)
    y = layers.Concatenate()([layers.UpSampling2D(2)(layers.Conv2D(8, 3, 2, padding="same")(y)), y])
    net = keras.Model(x, layers.Conv2D(6, 1)(y))

    def loss(y, z):
        p = tf.sigmoid(z[..., 4:])
        focal = tf.reduce_mean(keras.losses.binary_focal_crossentropy(tf.one_hot(y % 2, 2), p))
        box = tf.reduce_mean(keras.losses.log_cosh(tf.cast(y, tf.float32)[..., None], z[..., :4]))
        return focal + box
    return training(net, keras.optimizers.SGD(1e-2, momentum=0.9), loss, floats(2, 16, 16, 3), tokens(2, 2, 8, 8))


@model
def diffusion_sampler():
    net = dense(16, last=3, inputs=4)
    beta = np.linspace(1e-3, 0.2, 10).astype(np.float32)
    alpha = np.cumprod(1 - beta)

    def sample(x, seed):
        b, a = tf.constant(beta), tf.constant(alpha)
        for t in tf.range(9, -1, -1):
            noise = net(tf.concat([x, tf.fill([4, 1], tf.cast(t, tf.float32) / 10)], 1))
            x = (x - b[t] / tf.sqrt(1 - a[t]) * noise) / tf.sqrt(1 - b[t])
            if t > 0:
                x += tf.sqrt(b[t]) * tf.random.stateless_normal([4, 3], seed + [t, 0])
        return {"x": x}
    return signature(holding(net=net), sample, x=floats(4, 3), seed=np.array([1, 2], np.int32))


@model
def graph_network_train():
    w, v = tf.Variable(floats(5, 8)), tf.Variable(floats(8, 2))

    def step(x, senders, receivers, y):
        with tf.GradientTape() as tape:
            h = tf.nn.relu(x @ w)
            score = tf.exp(tf.reduce_sum(tf.gather(h, senders) * tf.gather(h, receivers), 1) * 0.1)
            share = score / tf.gather(tf.math.unsorted_segment_sum(score, receivers, 7), receivers)
            h = h + tf.math.unsorted_segment_sum(share[:, None] * tf.gather(h, senders), receivers, 7)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, h @ v))
        for variable, g in zip([w, v], tape.gradient(loss, [w, v])):
            variable.assign_sub(0.1 * g)
        return {"loss": loss}
    return signature(holding(w=w, v=v), step, x=floats(7, 5), senders=tokens(7, 14),
                     receivers=tokens(7, 14)[::-1].copy(), y=tokens(2, 7))
