"""Exports a Keras classifier of digits as a SavedModel: python export.py [FOLDER]. Needs tensorflow.

Its signatures: serving_default (images -> scores), accuracy (images, labels -> accuracy), and step (images, labels ->
loss), which updates the weights by Adam. Images have values from 0 to 16."""

import sys

import keras
import tensorflow as tf

folder = sys.argv[1] if len(sys.argv) > 1 else "model"
keras.utils.set_random_seed(1)
layers = keras.layers

net = keras.Sequential([
    keras.Input((64,)),
    layers.Rescaling(1 / 16),
    layers.Dense(32, activation="relu"),
    layers.Dense(10),
])
optimizer = keras.optimizers.Adam(0.01)
optimizer.build(net.trainable_variables)


images_spec = tf.TensorSpec([None, 64], tf.uint8, "images")
labels_spec = tf.TensorSpec([None], tf.uint8, "labels")


@tf.function(input_signature=[images_spec])
def scores(images):
    return {"scores": net(tf.cast(images, tf.float32))}


@tf.function(input_signature=[images_spec, labels_spec])
def accuracy(images, labels):
    guesses = tf.argmax(scores(images)["scores"], 1, tf.int32)
    return {"accuracy": tf.reduce_mean(tf.cast(guesses == tf.cast(labels, tf.int32), tf.float32))}


@tf.function(input_signature=[images_spec, labels_spec])
def step(images, labels):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(labels, tf.int32), scores(images)["scores"])
        loss = tf.reduce_mean(losses)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return {"loss": loss}


module = tf.Module()
module.net, module.optimizer = net, optimizer
tf.saved_model.save(module, folder, signatures={"serving_default": scores, "accuracy": accuracy, "step": step},
                    options=tf.saved_model.SaveOptions(save_debug_info=False))
