"""JAX called from several threads at a time, compared with NumPy; tests/tools/run_tsan.sh runs it under the sanitizer of
threads, too. Prints "N passed, N failed"."""
import threading

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from run_programs import close, run_all, test


# Calls the function with 0, 1, ... in a thread each; what one of them raises is raised again.
def in_threads(count, function):
    raised = []

    def call(number):
        try:
            function(number)
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


# Threads share one function, of which each wants another shape, and put arrays on all devices meanwhile.
@test
def shared_function():
    function = jax.jit(lambda x: jnp.tanh(x @ x.T).sum(axis=1))

    def use(number):
        for turn in range(20):
            x = np.full((8 + number, 4), 0.1 * turn, np.float32)
            close(function(x), np.tanh(x @ x.T).sum(axis=1))
            there = jax.device_put(x, jax.devices()[(number + turn) % len(jax.devices())])
            close(there, x, rtol=0, atol=0)

    in_threads(4, use)


# Programs are compiled at the same time, and dropped.
@test
def many_compilations():
    def compile_and_call(number):
        function = jax.jit(lambda x: jnp.sin(x) * number + jnp.cumsum(x))
        x = np.ones(50 + number, np.float32)
        for _ in range(3):
            close(function(x), np.sin(x) * number + np.cumsum(x))

    in_threads(6, compile_and_call)


# Arguments that are given away, from one call to the next, in several threads.
@test
def donated_arguments():
    function = jax.jit(lambda x: x + 1, donate_argnums=0)

    def count(number):
        x = jnp.zeros(20000)
        for _ in range(20):
            x = function(x)
        assert float(x[number]) == 20

    in_threads(3, count)


# Functions of Python that programs call, while other threads do the same.
@test
def callbacks():
    def twice(x):
        return np.asarray(x) * 2

    double = jax.jit(lambda x: jax.pure_callback(twice, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1)

    def call(number):
        for turn in range(5):
            close(double(np.full(5, turn + number, np.float32)), np.full(5, 2 * (turn + number) + 1))

    in_threads(3, call)


# Programs over all devices with collectives, of one thread; another one waits for what they gave.
@test
def all_devices():
    mesh = Mesh(np.array(jax.devices()), ("x",))
    size = len(jax.devices())
    x = jax.device_put(np.arange(8 * size, dtype=np.float32).reshape(size, 8), NamedSharding(mesh, P("x")))
    total = jax.jit(lambda x: (x @ x.T).sum(axis=0), out_shardings=NamedSharding(mesh, P()))
    host = np.asarray(x)
    results = [total(x) for _ in range(10)]

    def wait(number):
        for result in results[number::2]:
            close(result, (host @ host.T).sum(axis=0))

    in_threads(2, wait)


run_all()
