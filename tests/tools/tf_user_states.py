"""More models for check_tf_models.py, MODELS as in tf_models.py: recurrent layers of all kinds, attention with
masks, policies of mixed precision."""

import keras
from tf_models import floats, tokens, training
from tf_keras_models import cross_entropy, squares

layers = keras.layers
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def steps(shape, output, optimizer, loss, x, y, dtype="float32"):
    inputs = keras.Input(shape, dtype=dtype)
    return training(keras.Model(inputs, output(inputs)), optimizer, loss, x, y)


@model
def recurrent_of_all_kinds_train():
    def net(x):
        y = layers.Bidirectional(layers.SimpleRNN(4, return_sequences=True), merge_mode="sum")(x)
        y = layers.GRU(4, reset_after=False, return_sequences=True, go_backwards=True)(y)
        y = layers.LSTM(4, unroll=True, return_sequences=True, unit_forget_bias=False)(y)
        y = layers.RNN([layers.LSTMCell(4), layers.GRUCell(3)], return_sequences=True)(y)
        return layers.TimeDistributed(layers.Dense(2))(y)

    return steps((5, 3), net, keras.optimizers.Adam(1e-2), squares, floats(4, 5, 3), floats(4, 5, 2))


@model
def masked_bidirectional_train():
    def net(x):
        y = layers.Masking(0.0)(x)
        y = layers.Bidirectional(layers.GRU(4, return_sequences=True))(y)
        return layers.Dense(2)(layers.Bidirectional(layers.LSTM(3), backward_layer=layers.GRU(3, go_backwards=True))(y))

    x = floats(4, 6, 3)
    x[1, 4:] = x[2, 2:] = 0
    return steps((6, 3), net, keras.optimizers.Nadam(1e-2), squares, x, floats(4, 2))


@model
def convolutional_recurrence_train():
    def net(x):
        y = layers.ConvLSTM1D(3, 3, padding="same", return_sequences=True)(x)
        return layers.Dense(2)(layers.GlobalAveragePooling1D()(layers.ConvLSTM1D(2, 2)(y)))

    return steps((4, 6, 2), net, keras.optimizers.RMSprop(1e-2), squares, floats(3, 4, 6, 2), floats(3, 2))


@model
def attention_with_masks_train():
    def net(ids):
        y = layers.Embedding(20, 8, mask_zero=True)(ids)
        y = y + layers.MultiHeadAttention(2, 4, value_dim=3)(y, y, use_causal_mask=True)
        y = layers.LayerNormalization()(y + layers.AdditiveAttention()([y, y]))
        y = layers.UnitNormalization()(y + layers.Attention(use_scale=True, score_mode="concat")([y, y]))
        return layers.Dense(4)(layers.GlobalAveragePooling1D()(y))

    return steps((7,), net, keras.optimizers.AdamW(1e-2), cross_entropy, tokens(20, 3, 7), tokens(4, 3), "int32")


def mixed(policy):
    def make():
        keras.mixed_precision.set_dtype_policy(policy)
        try:
            def net(x):
                y = layers.Conv2D(4, 3, activation="relu")(x)
                y = layers.LayerNormalization()(layers.Dense(8, activation="gelu")(layers.Flatten()(y)))
                return layers.Dense(3, dtype="float32")(layers.BatchNormalization()(y))

            return steps((6, 6, 2), net, keras.optimizers.Adam(1e-3), cross_entropy, floats(4, 6, 6, 2), tokens(3, 4))
        finally:
            keras.mixed_precision.set_dtype_policy("float32")

    return make


MODELS["mixed_bfloat16_train"] = mixed("mixed_bfloat16")
