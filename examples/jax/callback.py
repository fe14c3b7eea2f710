"""A Python function called by a compiled program: jax.pure_callback, debug.print and an ordered io_callback."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback


def numpy_median(x):
    return np.median(x).astype(np.float32)


@jax.jit
def centred(x):
    median = jax.pure_callback(numpy_median, jax.ShapeDtypeStruct((), jnp.float32), x)
    jax.debug.print("the median is {m}", m=median)
    io_callback(lambda m: print("seen in order:", m), None, median, ordered=True)
    return x - median


print(centred(jnp.array([5.0, 1.0, 9.0, 3.0, 7.0])))
jax.effects_barrier()
