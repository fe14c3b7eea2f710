"""Models of bench_tf.py and check_tf_models.py: MODELS maps a name to a function that returns a tf.Module, its
signature and inputs by name. Weights are random. A name that ends with _train is a step of training with its
optimizer."""
import keras
import numpy as np
import tensorflow as tf

layers = keras.layers
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def floats(*shape, low=-1.0, high=1.0):
    return np.random.default_rng(7).uniform(low, high, shape).astype(np.float32)


def tokens(high, *shape):
    return np.random.default_rng(8).integers(0, high, shape).astype(np.int32)


def spread(net):
    """Statistics and offsets that are not those of an untrained model."""
    random = np.random.default_rng(9)
    for weight in net.weights:
        if weight.path.endswith(("moving_variance", "gamma")):
            weight.assign(random.uniform(0.7, 1.3, weight.shape))
        elif weight.path.endswith(("moving_mean", "beta", "bias")):
            weight.assign(random.uniform(-0.2, 0.2, weight.shape))


def prediction(net, **inputs):
    """A module whose signature runs the model on any batch."""
    spread(net)
    module = tf.Module()
    module.net = net
    names = list(inputs)
    spec = [tf.TensorSpec((None,) + x.shape[1:], x.dtype, name) for name, x in inputs.items()]
    function = tf.function(lambda *x: {"y": net(x[0] if len(x) == 1 else dict(zip(names, x)), training=False)},
                           input_signature=spec)
    return module, function, inputs


def training(net, optimizer, loss, x, y):
    """A module whose signature is a step: forward, backward, update."""
    module = tf.Module()
    module.net, module.optimizer = net, optimizer
    optimizer.build(net.trainable_variables)

    def step(x, y):
        with tf.GradientTape() as tape:
            value = tf.reduce_mean(loss(y, net(x, training=True)))
        optimizer.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))
        return {"loss": value}
    spec = [tf.TensorSpec((None,) + v.shape[1:], v.dtype, name) for name, v in (("x", x), ("y", y))]
    return module, tf.function(step, input_signature=spec), {"x": x, "y": y}


def application(name, size, high):
    def make():
        net = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=100)
        return prediction(net, image=floats(1, size, size, 3, low=0, high=high))
    return make


for name, size, high in (("MobileNetV2", 224, 1), ("ResNet50", 224, 1), ("EfficientNetB0", 224, 255),
                         ("DenseNet121", 160, 1),
                         ("InceptionV3", 160, 1), ("MobileNetV3Small", 224, 255), ("ConvNeXtTiny", 128, 255),
                         ("VGG16", 128, 1),
                         ("Xception", 128, 1), ("NASNetMobile", 128, 1)):
    MODELS[name.lower()] = application(name, size, high)


def block(x, heads, width, causal):
    """A layer of a transformer, with the normalisation first."""
    a = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(heads, width // heads)(a, a, use_causal_mask=causal)
    h = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
    return x + layers.Dense(width)(h)


def transformer(vocabulary, length, width, depth, causal):
    x = keras.Input((length,), dtype="int32")
    y = layers.Embedding(vocabulary, width)(x) + layers.Embedding(length, width)(tf.range(length)[None])
    for _ in range(depth):
        y = block(y, 4, width, causal)
    return keras.Model(x, layers.Dense(vocabulary)(layers.LayerNormalization()(y)))


@model
def bert():
    return prediction(transformer(1000, 128, 256, 4, False), ids=tokens(1000, 2, 128))


@model
def gpt():
    return prediction(transformer(1000, 128, 256, 4, True), ids=tokens(1000, 2, 128))


@model
def lstm():
    x = keras.Input((48, 32))
    return prediction(keras.Model(x, layers.Dense(10)(layers.LSTM(64)(layers.LSTM(64, return_sequences=True)(x)))),
                      x=floats(8, 48, 32))


@model
def gru():
    x = keras.Input((48, 32))
    return prediction(keras.Model(x, layers.Dense(10)(layers.Bidirectional(layers.GRU(64))(x))), x=floats(8, 48, 32))


@model
def mlp_train():
    net = keras.Sequential([keras.Input((64,)), layers.Dense(256, activation="relu"),
                            layers.Dense(256, activation="relu"),
                            layers.Dense(10)])
    loss = lambda y, z: tf.nn.sparse_softmax_cross_entropy_with_logits(y, z)
    return training(net, keras.optimizers.Adam(1e-3), loss, floats(64, 64), tokens(10, 64))


@model
def cnn_train():
    net = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(16, 3, padding="same", use_bias=False),
                            layers.BatchNormalization(),
                            layers.ReLU(), layers.MaxPooling2D(),
                            layers.Conv2D(32, 3, padding="same", activation="relu"),
                            layers.MaxPooling2D(), layers.Flatten(), layers.Dense(64, activation="relu"),
                            layers.Dense(10)])
    loss = lambda y, z: tf.nn.sparse_softmax_cross_entropy_with_logits(y, z)
    return training(net, keras.optimizers.SGD(1e-2, momentum=0.9), loss, floats(16, 28, 28, 1), tokens(10, 16))


@model
def gpt_train():
    net = transformer(200, 32, 64, 2, True)
    loss = lambda y, z: tf.nn.sparse_softmax_cross_entropy_with_logits(y, z)
    return training(net, keras.optimizers.Adam(1e-3), loss, tokens(200, 4, 32), tokens(200, 4, 32))


@model
def lstm_train():
    x = keras.Input((16, 8))
    net = keras.Model(x, layers.Dense(3)(layers.LSTM(32)(x)))
    loss = lambda y, z: tf.square(y - z)
    return training(net, keras.optimizers.RMSprop(1e-3), loss, floats(8, 16, 8), floats(8, 3))
