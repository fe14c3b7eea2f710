"""Trains the digit classifier with flax and optax, its images cut over all devices.

  HLORUN_DEVICES=8 python digits.py FOLDER       eight devices in one process
  hlorun -n 8 python digits.py FOLDER            eight processes; no coordinator is needed

FOLDER is examples/digits, which has the images."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from jax.sharding import NamedSharding, PartitionSpec as P

folder = sys.argv[1]
images, labels = (np.load(f"{folder}/train_{name}.npy") for name in ("images", "labels"))
images = images.reshape(len(images), -1).astype(np.float32)
labels = labels.astype(np.int32)
devices = jax.device_count()
count = len(images) // devices * devices
mesh = jax.make_mesh((devices,), ("data",))


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(10)(nn.relu(nn.Dense(64)(x)))


model, optimizer = Classifier(), optax.adam(3e-3)
params = jax.jit(model.init)(jax.random.key(0), jnp.zeros((1, images.shape[1])))
state = optimizer.init(params)


def local_step(params, state, x, y):
    def loss(p):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, x), y).mean()

    value, grads = jax.value_and_grad(loss)(jax.lax.pcast(params, "data", to="varying"))
    grads, value = jax.lax.pmean((grads, value), "data")
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, value


step = jax.jit(jax.shard_map(local_step, mesh=mesh, in_specs=(P(), P(), P("data"), P("data")), out_specs=(P(), P(), P())))


def share(array):
    return jax.make_array_from_callback(array.shape, NamedSharding(mesh, P("data")), lambda part: array[part])


def everywhere(tree):
    everyone = NamedSharding(mesh, P())
    return jax.tree.map(lambda a: jax.make_array_from_callback(a.shape, everyone, lambda part: np.asarray(a)[part]), tree)


x, y = share(images[:count]), share(labels[:count])
params, state = everywhere(params), everywhere(state)
for epoch in range(60):
    params, state, loss = step(params, state, x, y)
params, loss = jax.tree.map(lambda a: np.asarray(a.addressable_data(0)), (params, loss))
if jax.process_index() == 0:
    accuracy = (np.asarray(model.apply(params, images)).argmax(1) == labels).mean()
    print(f"loss {float(loss):.4f} accuracy {accuracy:.3f} on {devices} devices of {jax.process_count()} processes")
