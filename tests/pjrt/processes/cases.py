"""What run_jax_processes.sh runs on one process or on several, by `hlorun -n N python cases.py CASE [FOLDER]`.

Each case is a function; it prints what the script looks for.
"""
import gc
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P


def everywhere(value):
    """An array with one row for each device of all processes."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
    return jax.make_array_from_callback((jax.device_count(), 4), NamedSharding(mesh, P("i")),
                                        lambda part: np.full((1, 4), value, np.float32))


def summed(array):
    return float(jax.jit(jnp.sum, out_shardings=NamedSharding(array.sharding.mesh, P()))(array))


def world():
    from jax.experimental import multihost_utils
    rank = jax.process_index()
    gathered = multihost_utils.process_allgather(np.float32([rank]))
    root = multihost_utils.broadcast_one_to_all(np.int32(rank + 7))
    multihost_utils.sync_global_devices("here")
    print(f"process {rank} of {jax.process_count()}: {len(jax.local_devices())} of {jax.device_count()} devices, "
          f"gathered {gathered.ravel().tolist()}, root {int(root)}, sum {summed(everywhere(1.0))}")


def on_devices(devices, value):
    """The same on some devices: None in a process that has none of them."""
    mesh = jax.sharding.Mesh(np.array(devices), ("i",))
    if all(device.process_index != jax.process_index() for device in devices):
        return None
    return jax.make_array_from_callback((len(devices), 4), NamedSharding(mesh, P("i")),
                                        lambda part: np.full((1, 4), value + part[0].start, np.float32))


# Programs on some of the devices, on all in another order, and on all, in turns. Positions on the mesh count, not
# numbers.
def parts():
    devices = jax.devices()
    found = []
    for chosen in (devices[:2], devices[:0:-1], devices[::-1], devices, devices[1:], devices[:2]):
        x = on_devices(chosen, 1.0)
        if x is None:
            found.append("none")
            continue
        mesh = x.sharding.mesh

        def shifted(a, count=len(chosen)):
            moved = jax.lax.ppermute(a, "i", [(k, (k + 1) % count) for k in range(count)])
            return moved * 10 + jax.lax.axis_index("i")

        y = jax.jit(jax.shard_map(shifted, mesh=mesh, in_specs=P("i"), out_specs=P("i")))(x)
        mine = [float(shard.data[0, 0]) for shard in y.addressable_shards]
        found.append(f"{summed(x)} {sorted(mine)}")
    print(f"process {jax.process_index()} of {jax.process_count()}: " + ", ".join(found))


# Programs on devices of one process: the others compile them, have no part of the results, and do nothing.
def elsewhere():
    mine = []
    local = jax.local_device_count()
    for process in range(jax.process_count()):
        mesh = jax.sharding.Mesh(np.array(jax.local_devices(process_index=process)), ("i",))
        x = jax.device_put(np.arange(8.0).reshape(local, -1), NamedSharding(mesh, P("i")))
        y = jax.jit(lambda a: (a * a).sum(1) + 1)(x)
        z = jax.jit(jax.shard_map(lambda a: jax.lax.psum(a.sum(), "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))(y)
        jax.block_until_ready(z)
        mine.append([float(shard.data) for shard in z.addressable_shards])
        assert len(y.addressable_shards) == len(mine[-1]) and y.shape == (local,)
    print(f"process {jax.process_index()} has {mine}, sum {summed(everywhere(1.0))}")


# A coordinator of JAX is not needed, and does no harm.
def initialize():
    count, rank = (int(word) for word in os.environ["HLORUN_LAUNCHED"].split()[:2])
    jax.distributed.initialize("127.0.0.1:" + os.environ["PORT"], count, rank)


def initialized():
    initialize()
    world()


# The command tells JAX of its processes. A sitecustomize of the user's is run, too.
def initialized_without_arguments():
    jax.distributed.initialize()
    assert os.environ.get("HIDDEN") == "was run", "the user's sitecustomize was not run"
    world()


# Processes that JAX alone joins: which of how many are the words behind the folder.
def joined():
    jax.distributed.initialize("127.0.0.1:" + os.environ["PORT"], *(int(word) for word in sys.argv[3:]))
    world()


# A checkpoint of an array of all processes comes back on all of them. Orbax gets its coordinator as it is imported.
def orbax():
    import orbax.checkpoint as ocp
    from jax.experimental import multihost_utils
    folder = os.path.join(sys.argv[2], "state")
    state = {"w": everywhere(3.0), "step": 5}
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder, state)
        checkpointer.wait_until_finished()
        again = checkpointer.restore(folder, {"w": jax.ShapeDtypeStruct(state["w"].shape, np.float32,
                                                                        sharding=state["w"].sharding), "step": 0})
    multihost_utils.sync_global_devices("restored")
    print(f"process {jax.process_index()} restored {again['step']} {summed(again['w'])}")


# Orbax is imported after JAX has made its devices, in one process earlier than in the others.
def orbax_imported_late():
    if jax.process_index() == 0:
        assert importlib.import_module("orbax.checkpoint")
    summed(everywhere(1.0))
    orbax()


# One process dies between two launches: the others wait for it in the next one.
def death():
    x = everywhere(1.0)
    summed(x)
    if jax.process_index() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    try:
        for _ in range(100):
            summed(x)
    except Exception as error:
        print(f"process {jax.process_index()} after {time.monotonic() - begin:.1f} s: {error}")
        raise SystemExit(1) from error


def two_programs(x):
    one = NamedSharding(x.sharding.mesh, P())

    def second(a):
        return a.max(0) * 2

    return [jax.jit(lambda a: a.sum(0), out_shardings=one), jax.jit(second, out_shardings=one)]


# Process 1 compiles two programs the other way round.
def order():
    x = everywhere(1.0)
    programs = two_programs(x)
    for program in programs if jax.process_index() == 0 else reversed(programs):
        program(x).block_until_ready()


# The programs are alike as far as their communication goes, and are launched in different order.
def launches():
    x = everywhere(1.0)
    one = NamedSharding(x.sharding.mesh, P())

    def first(a):
        return a.sum(0)

    def second(a):
        return a.sum(0) * 2

    programs = [jax.jit(f, out_shardings=one).lower(x).compile() for f in (first, second)]
    for program in programs if jax.process_index() == 0 else reversed(programs):
        program(x).block_until_ready()


# Programs are compiled while earlier ones still run or wait, by one process sooner than by the other: both are things
# that all processes do together, in one order.
def compiled_behind_launches():
    x = everywhere(1.0)
    one = NamedSharding(x.sharding.mesh, P())

    def wait(value):
        time.sleep(0.02)
        return value

    for k in range(5):
        def program(a, k=k):
            local = jax.shard_map(lambda b: jax.pure_callback(wait, jax.ShapeDtypeStruct(b.shape, b.dtype), b),
                                  mesh=x.sharding.mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False)
            return local(a).sum() + k

        compiled = jax.jit(program, out_shardings=one)
        for _ in range(4):
            y = compiled(x)
        time.sleep(0.05 * jax.process_index())
    print(f"process {jax.process_index()} has {float(y)}")


# --- one process ---

@jax.jit
def long_loop(x):
    return jax.lax.fori_loop(0, 1 << 30, lambda i, a: jnp.sin(a) + 1e-9 * i, x)


def ends_while_running():
    long_loop(jnp.ones(1000))
    print("leaves")


def interrupted():
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        long_loop(jnp.ones(1000)).block_until_ready()
    except KeyboardInterrupt:
        print("interrupted")


def child(queue):
    queue.put(sum(range(10)))


# A forked child that leaves JAX alone works, and ends; so does the parent after it.
def forked():
    y = jax.jit(lambda a: a @ a)(jnp.ones((500, 500)))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print("child says", queue.get(timeout=30))
    process.join(30)
    print("exit code", process.exitcode, "parent has", float(y[0, 0]))


def uses_jax(x, queue):
    answers = [float(np.asarray(x)[0])]
    for attempt in (lambda: triple(x), lambda: long_result[0].block_until_ready(),
                    lambda: jax.device_get(long_result[0])):
        try:
            attempt()
            answers.append("no error")
        except Exception as error:
            answers.append("spawn" in str(error))
    queue.put(answers)


# A forked child that computes with JAX is told what to do instead, and waits for no thread that it does not have.
# (JAX itself does when it compiles.)
def forked_computes():
    x = jax.block_until_ready(triple(jnp.ones(4)))
    long_result.append(long_loop(jnp.ones(1000)))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=uses_jax, args=(x, queue))
    process.start()
    print("child says", queue.get(timeout=60))
    process.join(60)
    print("exit code", process.exitcode, flush=True)
    os._exit(0)


triple = jax.jit(lambda a: a * 3)
long_result = []


# Collections of garbage in one thread, while others make arrays and programs and drop them.
def collected():
    stop = []

    def collect():
        while not stop:
            gc.collect()
            time.sleep(0.002)

    def work(k):
        for i in range(20):
            f = jax.jit(lambda a: a * k + i)
            x = f(jnp.arange(100.0))
            x.delete() if i % 3 == 0 else np.asarray(x)
            cycle = [x]
            cycle.append(cycle)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    collector = threading.Thread(target=collect)
    collector.start()
    [t.start() for t in threads]
    [t.join() for t in threads]
    stop.append(True)
    collector.join()
    print("collected")


# Resident memory over many calls of each kind.
def flat():
    add = jax.jit(lambda a, b: a + b, donate_argnums=0)

    def calls(count):
        x = jnp.ones((64, 64))
        for i in range(count):
            x = add(x, 1.0)
            if i % 10 == 0:
                np.asarray(jax.device_put(np.full(100, i, np.float32)) + 1)
        x.block_until_ready()

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    calls(2000)
    gc.collect()
    before = resident()
    calls(int(os.environ.get("HLORUN_CALLS", "20000")))
    gc.collect()
    grown = resident() - before
    print("memory is flat" if grown < 2 << 20 else f"memory grew by {grown} bytes")


globals()[sys.argv[1]]()
