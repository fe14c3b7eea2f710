"""SavedModels and Keras models for make_tf_cases.py."""
import os

import numpy as np
import tensorflow as tf

from tf_case_registry import f32, random, s32


class Optimizers(tf.Module):
    """Each optimiser's step on variables of its own; results are the variables afterwards."""
    STEPS = {
        "AdaMax": (["var", "m", "v"], dict(beta1_power=0.9, lr=0.1, beta1=0.9, beta2=0.99, epsilon=1e-6)),
        "Adadelta": (["var", "accum", "accum_update"], dict(lr=0.1, rho=0.9, epsilon=1e-4)),
        "AdagradDA": (["var", "gradient_accumulator", "gradient_squared_accumulator"],
                      dict(lr=0.1, l1=0.1, l2=0.2, global_step=3)),
        "AddSign": (["var", "m"], dict(lr=0.1, alpha=1.0, sign_decay=0.5, beta=0.9)),
        "PowerSign": (["var", "m"], dict(lr=0.1, logbase=1.0, sign_decay=0.5, beta=0.9)),
        "CenteredRMSProp": (["var", "mg", "ms", "mom"], dict(lr=0.1, rho=0.9, momentum=0.5, epsilon=0.9)),
        "RMSProp": (["var", "ms", "mom"], dict(lr=0.1, rho=0.9, momentum=0.5, epsilon=1e-3)),
        "Ftrl": (["var", "accum", "linear"], dict(lr=0.1, l1=0.1, l2=0.2, lr_power=-0.5)),
        "FtrlV2": (["var", "accum", "linear"], dict(lr=0.1, l1=0.1, l2=0.2, l2_shrinkage=0.1, lr_power=-0.5)),
        "ProximalGradientDescent": (["var"], dict(alpha=0.1, l1=0.1, l2=0.2)),
        "ProximalAdagrad": (["var", "accum"], dict(lr=0.1, l1=0.1, l2=0.2)),
        "Momentum": (["var", "accum"], dict(lr=0.1, momentum=0.9, use_nesterov=True)),
        "KerasMomentum": (["var", "accum"], dict(lr=0.1, momentum=0.9, use_nesterov=True)),
        "Adagrad": (["var", "accum"], dict(lr=0.1)),
        "AdagradV2": (["var", "accum"], dict(lr=0.1, epsilon=1e-3)),
        "GradientDescent": (["var"], dict(alpha=0.1)),
    }

    def __init__(self):
        self.slots = {name: [tf.Variable(np.abs(f32(2, 3)) + 0.1, name="%s_%s" % (name, n)) for n in names]
                      for name, (names, _) in self.STEPS.items()}
        self.rows = [tf.Variable(f32(4, 2), name="rows%d" % i) for i in range(10)]

    @tf.function(input_signature=[tf.TensorSpec([2, 3], tf.float32, "g"), tf.TensorSpec([3], tf.int32, "i"),
                                  tf.TensorSpec([3, 2], tf.float32, "u")])
    def step(self, g, i, u):
        for name, (names, constants) in self.STEPS.items():
            gradient = "delta" if name == "ProximalGradientDescent" or name == "GradientDescent" else "grad"
            getattr(tf.raw_ops, "ResourceApply" + name)(
                **{n: v.handle for n, v in zip(names, self.slots[name])}, **constants, **{gradient: g})
        kinds = ["Add", "Sub", "Mul", "Div", "Max", "Min", "Update"]
        for kind, v in zip(kinds, self.rows):
            getattr(tf.raw_ops, "ResourceScatter" + kind)(resource=v.handle, indices=i, updates=u)
        for kind, v in zip(["Add", "Sub", "Update"], self.rows[7:]):
            getattr(tf.raw_ops, "ResourceScatterNd" + kind)(ref=v.handle, indices=i[:, None], updates=u)
        return {"%02d" % k: tf.identity(v) for k, v in enumerate(tf.nest.flatten([self.slots, self.rows]))}


class Adam(tf.Module):
    """A dense layer: a prediction, and a step of training."""
    def __init__(self):
        self.w = tf.Variable(f32(4, 3), name="w")
        self.m = tf.Variable(tf.zeros([4, 3]), name="m")
        self.v = tf.Variable(tf.zeros([4, 3]), name="v")
        self.t = tf.Variable(0.0, name="t")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x"),
                                  tf.TensorSpec([None, 3], tf.float32, "y")])
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ self.w - y) ** 2)
        self.t.assign_add(1.0)
        tf.raw_ops.ResourceApplyAdam(
            var=self.w.handle, m=self.m.handle, v=self.v.handle, beta1_power=0.9 ** self.t,
            beta2_power=0.999 ** self.t, lr=0.1, beta1=0.9, beta2=0.999, epsilon=1e-7,
            grad=tape.gradient(loss, self.w))
        return {"loss": loss}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def predict(self, x):
        return {"y": x @ self.w}


def write_saved_model(folder):
    """FOLDER/adam: a SavedModel with predict.npz, a call of its first signature, and the losses of five steps."""
    path = os.path.join(folder, "adam")
    model, x, y = Adam(), f32(5, 4), f32(5, 3)
    tf.saved_model.save(model, path, signatures={"serving_default": model.predict, "step": model.step},
                        options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    np.savez(os.path.join(path, "predict.npz"), in0=x, out0=model.predict(x)["y"].numpy())
    losses = [float(model.step(x, y)["loss"]) for _ in range(5)]
    np.savez(os.path.join(path, "step.npz"), in0=x, in1=y, out0=np.float32(losses[-1]))
    print("adam", losses)


def write_accumulation(folder):
    """A SavedModel whose step writes w every second time: a counter that is restored decides."""
    class Model(tf.Module):
        def __init__(self):
            self.w, self.sum, self.count = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0]), tf.Variable(0)

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, "x")])
        def step(self, x):
            self.sum.assign_add(x * self.w)
            self.count.assign_add(1)
            if self.count % 2 == 0:
                self.w.assign_sub(self.sum)
                self.sum.assign([0.0, 0.0])
            return {"w": self.w.read_value()}
    model, path, x = Model(), os.path.join(folder, "accumulation"), f32(2)
    tf.saved_model.save(model, path, signatures=model.step)
    for _ in range(5):
        result = model.step(x)["w"].numpy()
    np.savez(os.path.join(path, "step.npz"), in0=x, out0=result)
    print("accumulation")


def write_shards(folder):
    """The variables of the SavedModel adam in a bundle of three files."""
    path = os.path.join(folder, "adam_in_shards")
    reader = tf.train.load_checkpoint(os.path.join(folder, "adam", "variables", "variables"))
    names, parts = sorted(reader.get_variable_to_shape_map()), [os.path.join(path, "part%d" % k) for k in range(3)]
    for k, part in enumerate(parts):
        own = names[k::3]
        tf.raw_ops.SaveV2(prefix=part, tensor_names=own, shape_and_slices=[""] * len(own),
                          tensors=[reader.get_tensor(n) for n in own])
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=os.path.join(path, "variables"),
                                  delete_old_dirs=False)


def keras_models():
    """Small Keras models with random weights, and an input of each."""
    import keras
    from keras import layers
    keras.utils.set_random_seed(3)
    x = keras.Input((8, 8, 3))
    y = layers.Conv2D(6, 3, strides=2, padding="same", use_bias=False)(x)
    y = layers.ReLU(max_value=6)(layers.BatchNormalization()(y))
    z = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(y))
    z = layers.Activation("swish")(z)
    gate = layers.Dense(6, activation="sigmoid")(layers.GlobalAveragePooling2D(keepdims=True)(z))
    y = layers.UpSampling2D(2, interpolation="bilinear")(layers.Add()([y, layers.Multiply()([z, gate])]))
    yield "keras_convolutions", keras.Model(x, layers.Dense(3,
                                                            activation="softmax")(layers.GlobalMaxPooling2D()(y))), f32(2, 8, 8, 3)
    x = keras.Input((6,), dtype="int32")
    y = layers.Embedding(20, 8)(x) + layers.Embedding(6, 8)(tf.range(6)[None])
    for causal in [False, True]:
        a = layers.LayerNormalization()(y)
        y = y + layers.MultiHeadAttention(2, 4)(a, a, use_causal_mask=causal)
        y = y + layers.Dense(8)(layers.Dense(16, activation="gelu")(layers.LayerNormalization()(y)))
    yield "keras_attention", keras.Model(x, layers.Dense(20)(y)), s32(2, 6, low=0, high=20)
    x = keras.Input((5, 4))
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    yield "keras_recurrent", keras.Model(x, layers.Dense(2)(layers.GRU(4)(y))), f32(2, 5, 4)


def write_keras_models(folder, names):
    """Frozen graphs of the models: variables are constants."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2 as freeze
    for name, model, x in keras_models():
        for weight in model.weights:
            if "moving" in weight.path or "gamma" in weight.path:
                weight.assign(random.uniform(0.5, 1.5, weight.shape))
        if names and name not in names:
            continue
        function = tf.function(lambda in0: model(in0, training=False))
        frozen = freeze(function.get_concrete_function(tf.TensorSpec(x.shape, x.dtype, "in0")),
                        lower_control_flow=False)
        with open(os.path.join(folder, name + ".pb"), "wb") as file:
            file.write(frozen.graph.as_graph_def().SerializeToString(deterministic=True))
        np.savez(os.path.join(folder, name + ".npz"), in0=x, out0=model(x).numpy())
        print(name, len(frozen.graph.as_graph_def().node), "nodes")


def write_keras_training(folder):
    """FOLDER/keras_training: a Keras model with its optimizer, whose variables only the object graph has values for;
    predict.npz, and the losses of four steps."""
    import keras
    keras.utils.set_random_seed(5)
    path = os.path.join(folder, "keras_training")
    module = tf.Module()
    module.model = model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, activation="tanh"),
                                             keras.layers.Dense(3)])
    module.optimizer = optimizer = keras.optimizers.Adam(0.05)
    optimizer.build(model.trainable_variables)
    x, y = f32(6, 4), f32(6, 3)
    spec = [tf.TensorSpec([None, 4], tf.float32, "x"), tf.TensorSpec([None, 3], tf.float32, "y")]

    @tf.function(input_signature=spec)
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return {"loss": loss}

    predict = tf.function(lambda x: {"y": model(x)}, input_signature=spec[:1])
    tf.saved_model.save(module, path, signatures={"serving_default": predict, "step": step},
                        options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    np.savez(os.path.join(path, "predict.npz"), in0=x, out0=predict(x)["y"].numpy())
    losses = [float(step(x, y)["loss"]) for _ in range(4)]
    np.savez(os.path.join(path, "step.npz"), in0=x, in1=y, out0=np.float32(losses[-1]))
    print("keras_training", losses)


def write_embedding_training(folder):
    """FOLDER/embedding_training: Adagrad on an Embedding, whose rows a branch scales; losses of four steps, a batch
    of 4."""
    import keras
    keras.utils.set_random_seed(7)
    path = os.path.join(folder, "embedding_training")
    module = tf.Module()
    net = [keras.layers.Embedding(7, 2), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(3)]
    module.model = model = keras.Sequential([keras.Input((3,), dtype="int32")] + net)
    module.optimizer = optimizer = keras.optimizers.Adagrad(0.5)
    optimizer.build(model.trainable_variables)
    x, y = s32(4, 3, low=0, high=7), f32(4, 3)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.int32, "x"), tf.TensorSpec([None, 3], tf.float32, "y")])
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return {"loss": loss}

    tf.saved_model.save(module, path, signatures={"step": step},
                        options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    losses = [float(step(x, y)["loss"]) for _ in range(4)]
    np.savez(os.path.join(path, "step.npz"), in0=x, in1=y, out0=np.float32(losses[-1]))
    print("embedding_training", losses)


def write_recurrent_training(folder):
    """FOLDER/recurrent_training: one step of an LSTM on a batch of unknown size, whose gradient pushes sizes on
    lists."""
    import keras
    keras.utils.set_random_seed(6)
    path = os.path.join(folder, "recurrent_training")
    x = keras.Input((5, 2))
    module = tf.Module()
    module.model = model = keras.Model(x, keras.layers.Dense(1)(keras.layers.LSTM(3)(x)))
    x, y = f32(4, 5, 2), f32(4, 1)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            variable.assign_sub(0.1 * gradient)
        return {"loss": loss}
    spec = [tf.TensorSpec([None, 5, 2], tf.float32, "x"), tf.TensorSpec([None, 1], tf.float32, "y")]
    step = tf.function(step, input_signature=spec)
    tf.saved_model.save(module, path, signatures=step, options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    losses = [float(step(x, y)["loss"]) for _ in range(3)]
    np.savez(os.path.join(path, "step.npz"), in0=x, in1=y, out0=np.float32(losses[-1]))
    print("recurrent_training", losses)


def write_optimizers(folder):
    """FOLDER/optimizers: a SavedModel whose signature changes its variables and returns them."""
    path = os.path.join(folder, "optimizers")
    model, g, i, u = Optimizers(), f32(2, 3), np.array([2, 0, 3], np.int32), f32(3, 2)
    tf.saved_model.save(model, path, signatures={"step": model.step},
                        options=tf.saved_model.SaveOptions(save_debug_info=False))
    os.remove(os.path.join(path, "fingerprint.pb"))
    os.rmdir(os.path.join(path, "assets"))
    results = model.step(g, i, u)
    arrays = {"out%d" % k: results[name].numpy() for k, name in enumerate(sorted(results))}
    np.savez(os.path.join(path, "step.npz"), in0=g, in1=i, in2=u, **arrays)
    print("optimizers", len(results), "variables")
