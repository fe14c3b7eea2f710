"""Keras models for check_tf_models.py beside those of the benchmarks: MODELS as in tf_models.py. Weights are random."""
import keras
import numpy as np
import tensorflow as tf

from tf_models import block, floats, prediction, tokens, training, transformer

layers = keras.layers
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def tracked(made):
    """The module with the states of the model's seeds, which TensorFlow does not find by itself."""
    made[0].states = [v.value for v in made[0].net.variables + [g.state for g in seeds(made[0].net)]]
    return made


def seeds(layer):
    """The generators of a layer and of the layers in it."""
    found = [v for v in vars(layer).values() if isinstance(v, keras.random.SeedGenerator)]
    return found + [g for inner in layer._flatten_layers(include_self=False, recursive=False) for g in seeds(inner)]


def application(name, size):
    def make():
        net = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10)
        return prediction(net, image=floats(2, size, size, 3, low=0, high=1))
    return make


# The smallest of each family that tf_models.py has not.
for name, size in (("ResNet50V2", 64), ("ResNet101", 64), ("MobileNet", 64), ("MobileNetV3Large", 64),
                   ("DenseNet169", 64),
                   ("EfficientNetV2B0", 64), ("InceptionResNetV2", 80), ("VGG19", 48), ("EfficientNetB1", 64),
                   ("ConvNeXtSmall", 48)):
    MODELS[name.lower()] = application(name, size)


def cross_entropy(y, z):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(y, z)


def application_step(name, size):
    """One step: later ones of networks with random weights and small batches are ill-conditioned."""
    def make():
        shape = (size, size, 3)
        net = getattr(keras.applications, name)(weights=None, input_shape=shape, classes=5, classifier_activation=None)
        module = tf.Module()
        module.net = net

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(cross_entropy(y, net(x, training=True)))
            gradients = tape.gradient(loss, net.trainable_variables)
            for variable, gradient in zip(net.trainable_variables, gradients):
                variable.assign_sub(1e-3 * gradient)
            moved = [tf.reduce_sum(v) for v in net.non_trainable_variables if v.dtype == "float32"]
            statistics = tf.add_n(moved or [0.0])
            return {"loss": loss, "norm": tf.linalg.global_norm(gradients), "statistics": statistics}
        inputs = {"x": floats(4, *shape, low=0, high=1), "y": tokens(5, 4)}
        spec = [tf.TensorSpec((None,) + v.shape[1:], v.dtype, key) for key, v in inputs.items()]
        return tracked((module, tf.function(step, input_signature=spec), inputs))
    return make


for name, size in (("ResNet50", 64), ("ResNet50V2", 64), ("MobileNet", 64), ("MobileNetV2", 64),
                   ("MobileNetV3Small", 64), ("EfficientNetB0", 64), ("EfficientNetV2B0", 64), ("DenseNet121", 64),
                   ("InceptionV3", 80), ("InceptionResNetV2", 80), ("NASNetMobile", 64), ("VGG16", 48),
                   ("Xception", 80), ("ConvNeXtTiny", 48)):
    MODELS[name.lower() + "_step"] = application_step(name, size)


def squares(y, z):
    return tf.square(z - y)


@model
def unet():
    x = keras.Input((32, 32, 3))
    a = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    b = layers.Conv2D(16, 3, padding="same", activation="relu")(layers.MaxPooling2D()(a))
    c = layers.Conv2D(16, 3, padding="same", activation="swish")(layers.AveragePooling2D(2)(b))
    d = layers.Concatenate()([layers.Conv2DTranspose(16, 3, 2, padding="same")(c), b])
    e = layers.Concatenate()([layers.UpSampling2D(interpolation="bilinear")(layers.Conv2D(8, 3, padding="same")(d)), a])
    return prediction(keras.Model(x, layers.Conv2D(2, 1, activation="softmax")(e)), x=floats(2, 32, 32, 3))


@model
def convolutions_of_all_kinds():
    x = keras.Input((20, 18, 6))
    y = layers.SeparableConv2D(8, 3, padding="same", depth_multiplier=2)(x)
    y = layers.DepthwiseConv2D(3, dilation_rate=2, padding="same")(y)
    y = layers.Conv2D(12, 3, groups=4, padding="same")(y)
    y = layers.GroupNormalization(3)(layers.PReLU(shared_axes=[1, 2])(y))
    y = layers.ZeroPadding2D(1)(layers.Cropping2D(2)(y))
    y = layers.Dot(1)([layers.GlobalMaxPooling2D()(y), layers.GlobalAveragePooling2D()(y)])
    return prediction(keras.Model(x, y), x=floats(2, 20, 18, 6))


@model
def volumes_and_sequences():
    x = keras.Input((6, 8, 8, 2))
    y = layers.Conv3D(4, 3, padding="same", activation="gelu")(x)
    y = layers.MaxPooling3D((2, 2, 2))(y)
    y = layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True)(y)
    y = layers.TimeDistributed(layers.Flatten())(y)
    y = layers.Conv1D(5, 2, padding="causal")(y)
    y = layers.Bidirectional(layers.LSTM(6, return_sequences=True))(y)
    return prediction(keras.Model(x, layers.GRU(4)(y)), x=floats(2, 6, 8, 8, 2))


@model
def encoder_and_decoder():
    source, target = keras.Input((9,), dtype="int32", name="source"), keras.Input((7,), dtype="int32", name="target")
    memory = block(layers.Embedding(50, 32)(source), 4, 32, False)
    y = layers.Embedding(50, 32)(target)
    y = y + layers.MultiHeadAttention(4, 8)(y, y, use_causal_mask=True)
    y = layers.LayerNormalization()(y + layers.MultiHeadAttention(4, 8)(y, memory))
    net = keras.Model({"source": source, "target": target}, layers.Dense(50)(y))
    return prediction(net, source=tokens(50, 2, 9), target=tokens(50, 2, 7))


@model
def grouped_query_attention():
    x = keras.Input((12, 32))
    y = layers.GroupQueryAttention(8, 8, 2)(x, x, use_causal_mask=True)
    y = layers.RMSNormalization()(y) if hasattr(layers, "RMSNormalization") else y
    return prediction(keras.Model(x, layers.Attention()([y, x])), x=floats(2, 12, 32))


@model
def masked_recurrent():
    x = keras.Input((10,), dtype="int32")
    y = layers.Embedding(20, 8, mask_zero=True)(x)
    y = layers.LSTM(12)(layers.GRU(12, return_sequences=True)(y))
    return prediction(keras.Model(x, layers.Dense(3, activation="softmax")(y)), x=tokens(20, 4, 10))


@model
def preprocessing():
    x = keras.Input((24, 20, 3))
    y = layers.Rescaling(2.0, -1.0)(layers.Resizing(16, 18)(x))
    y = layers.CenterCrop(12, 12)(y)
    y = layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 0.5])(y)
    return prediction(keras.Model(x, y), x=floats(2, 24, 20, 3, low=0, high=1))


@model
def augmentation_at_inference():
    x = keras.Input((16, 16, 3))
    y = x
    for kind, amount in (("RandomFlip", "horizontal"), ("RandomRotation", 0.1), ("RandomZoom", 0.2),
                         ("RandomContrast", 0.2),
                         ("RandomBrightness", 0.2)):
        y = getattr(layers, kind)(amount)(y)
    y = layers.Dropout(0.5)(layers.GaussianNoise(0.1)(y))
    return tracked(prediction(keras.Model(x, layers.Conv2D(4, 3)(y)), x=floats(2, 16, 16, 3)))


def augmented(kind, *amounts, **more):
    """A layer in training, with TensorFlow's seeds, which the model's generator counts."""
    def make():
        x = keras.Input((12, 10, 3))
        net = keras.Model(x, getattr(layers, kind)(*amounts, seed=5, **more)(x))
        module = tf.Module()
        module.net = net
        spec = [tf.TensorSpec((None, 12, 10, 3), tf.float32, "x")]
        return tracked((module, tf.function(lambda x: {"y": net(x, training=True)}, input_signature=spec),
                        {"x": floats(3, 12, 10, 3, low=0, high=1)}))
    return make


for kind, amounts, more in (("RandomFlip", (), {}), ("RandomRotation", (0.2,), {}), ("RandomZoom", (0.3,), {}),
                            ("RandomTranslation", (0.2, 0.2), {}),
                            ("RandomContrast", (0.4,), {}), ("RandomBrightness", (0.3,), {"value_range": (0, 1)}),
                            ("RandomCrop", (8, 7), {}),
                            ("RandomHue", (0.3,), {"value_range": (0, 1)}),
                            ("RandomSaturation", (0.4,), {"value_range": (0, 1)}),
                            ("RandomErasing", (), {"value_range": (0, 1)}), ("RandomShear", (0.2, 0.1), {}),
                            ("RandomGrayscale", (), {}),
                            ("RandomSharpness", (0.5,), {"value_range": (0, 1)}),
                            ("RandomGaussianBlur", (), {"value_range": (0, 1)})):
    MODELS["augment_" + kind[6:].lower()] = augmented(kind, *amounts, **more)


@model
def dropout_train():
    net = keras.Sequential([keras.Input((16,)), layers.Dense(32, activation="relu"), layers.Dropout(0.3, seed=9),
                            layers.Dense(4)])
    return tracked(training(net, keras.optimizers.Adam(1e-2), cross_entropy, floats(8, 16), tokens(4, 8)))


@model
def bert_train():
    return training(transformer(60, 12, 32, 2, False), keras.optimizers.AdamW(1e-3, weight_decay=0.01, clipnorm=1.0),
                    cross_entropy,
                    tokens(60, 3, 12), tokens(60, 3, 12))


@model
def gpt_nadam_train():
    return training(transformer(60, 12, 32, 2, True), keras.optimizers.Nadam(1e-3, global_clipnorm=0.5), cross_entropy,
                    tokens(60, 3, 12),
                    tokens(60, 3, 12))


@model
def residual_train():
    x = keras.Input((16, 16, 3))
    y = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
    for _ in range(2):
        z = layers.ReLU()(layers.BatchNormalization()(y))
        z = layers.Conv2D(8, 3, padding="same", use_bias=False)(z)
        y = y + z
    net = keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling2D()(y)))
    schedule = keras.optimizers.schedules.CosineDecay(1e-2, 20, warmup_steps=2, warmup_target=2e-2)
    return training(net, keras.optimizers.SGD(schedule, momentum=0.9, nesterov=True), cross_entropy,
                    floats(6, 16, 16, 3), tokens(5, 6))


@model
def gru_lamb_train():
    x = keras.Input((7, 4))
    net = keras.Model(x, layers.Dense(2)(layers.GRU(8)(x)))
    return training(net, keras.optimizers.Lamb(1e-3), squares, floats(5, 7, 4), floats(5, 2))


@model
def accumulation_train():
    net = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="tanh"), layers.Dense(2)])
    optimizer = keras.optimizers.Adam(1e-2, gradient_accumulation_steps=2, use_ema=True, ema_overwrite_frequency=3)
    return training(net, optimizer, squares, floats(5, 6), floats(5, 2))


@model
def adversarial_train():
    """Two networks and two optimizers in one step."""
    make = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="relu"), layers.Dense(6)])
    judge = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="leaky_relu"), layers.Dense(1)])
    a, b = keras.optimizers.Adam(1e-3, beta_1=0.5), keras.optimizers.RMSprop(1e-3)
    module = tf.Module()
    module.parts = [make, judge]
    module.optimizers = [a, b]
    a.build(make.trainable_variables)
    b.build(judge.trainable_variables)
    loss_of = lambda logits, label: tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.ones_like(logits) * label,
        logits))

    def step(x, y):
        with tf.GradientTape() as first, tf.GradientTape() as second:
            fake = make(y, training=True)
            on_fake = judge(fake, training=True)
            loss_a = loss_of(on_fake, 1.0)
            loss_b = loss_of(judge(x, training=True), 1.0) + loss_of(on_fake, 0.0)
        a.apply_gradients(zip(first.gradient(loss_a, make.trainable_variables), make.trainable_variables))
        b.apply_gradients(zip(second.gradient(loss_b, judge.trainable_variables), judge.trainable_variables))
        return {"loss": loss_a + loss_b}
    spec = [tf.TensorSpec((None, 6), tf.float32, "x"), tf.TensorSpec((None, 4), tf.float32, "y")]
    return module, tf.function(step, input_signature=spec), {"x": floats(5, 6), "y": floats(5, 4)}


@model
def loop_of_steps_train():
    """Ten steps of training in one call, in a loop over variables."""
    net = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="tanh"), layers.Dense(1)])
    module, optimizer = tf.Module(), keras.optimizers.Adam(1e-2)
    module.net, module.optimizer = net, optimizer
    optimizer.build(net.trainable_variables)

    def step(x, y):
        value = tf.constant(0.0)
        for _ in tf.range(10):
            with tf.GradientTape() as tape:
                value = tf.reduce_mean(tf.square(net(x, training=True) - y))
            optimizer.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))
        return {"loss": value}
    spec = [tf.TensorSpec((None, 4), tf.float32, "x"), tf.TensorSpec((None, 1), tf.float32, "y")]
    return module, tf.function(step, input_signature=spec), {"x": floats(6, 4), "y": floats(6, 1)}
