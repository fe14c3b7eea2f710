"""A product over a mesh of four devices: shards.hlo, and global arrays with JAX's results in global.npz."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import numpy as np
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))


def normalized(x, w):
    y = x @ w
    return y / jax.lax.psum(abs(y).sum(), "d")


f = jax.jit(jax.shard_map(normalized, mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d")))
random = np.random.default_rng(1)
x, w = random.normal(size=(8, 4)).astype(np.float32), random.normal(size=(4, 3)).astype(np.float32)
with open("shards.hlo", "w") as file:
    file.write(f.lower(x, w).as_text("hlo"))
np.savez("global.npz", in0=x, in1=w, out0=np.asarray(f(x, w)))
