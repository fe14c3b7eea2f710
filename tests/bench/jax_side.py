"""One side of bench_jax.py: a process that runs JAX on one backend and answers questions, a line of JSON each.

usage: jax_side.py --serve                     questions on standard input
       jax_side.py --peak NAME                 peak memory of a process that runs one program
       jax_side.py --process NAME RANK COUNT PORT SECONDS   one process of several; PORT 0: no coordinator

An item is a call without arguments, by its name in a group: calls, transfers, programs, eager, devices. Its time is
that of one call, out of batches that are long enough for the clock.
"""
import json
import os
import sys
import time

BATCH_SECONDS = 2e-3


def time_calls(call, finish, seconds):
    """Best and middle time of a call in seconds. `finish` waits for the last result of a batch."""
    finish(call())
    begin, count = time.perf_counter(), 1
    while True:
        for _ in range(count):
            last = call()
        finish(last)
        took = time.perf_counter() - begin
        if took > BATCH_SECONDS or count >= 4096:
            break
        count, begin = 2 * count, time.perf_counter()
    times, end = [took / count], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(count):
            last = call()
        finish(last)
        times.append((time.perf_counter() - begin) / count)
    times.sort()
    return times[0], times[len(times) // 2]


# --- items ---

def calls():
    import jax
    import numpy as np
    x = jax.device_put(np.float32(1))
    many = [jax.device_put(np.full(8, k, np.float32)) for k in range(20)]
    empty, add, sums = jax.jit(lambda a: a), jax.jit(lambda a: a + 1), jax.jit(lambda *a: [b + 1 for b in a])
    return {"empty": lambda: empty(x), "add one": lambda: add(x), "20 arguments and results": lambda: sums(*many),
            "add one, and wait": lambda: add(x).block_until_ready(), "add one, to a float": lambda: float(add(x))}


def transfers():
    import jax
    import jax.numpy as jnp
    import numpy as np
    items = {}
    for name, count in (("4 B", 1), ("64 KB", 1 << 14), ("64 MB", 1 << 24)):
        array = np.ones(count, np.float32)
        on_device = jax.block_until_ready(jnp.asarray(array) + 1)
        items["device_put " + name] = lambda array=array: jax.device_put(array)
        items["np.asarray " + name] = lambda a=on_device: as_numpy(a)
    return items


def as_numpy(array):
    """np.asarray of an array that NumPy has not seen yet: JAX keeps what it has given before, but not for a new
    handle."""
    import numpy as np
    return np.asarray(array.addressable_data(0))


def programs():
    from programs import P
    import jax
    items = {}
    for name, (function, args) in P.items():
        def make(function=function, args=args):
            args = jax.device_put(args)
            jitted = jax.jit(lambda *a: function(*a))
            return lambda: jitted(*args)
        items[name] = make
    return items


def devices():
    import jax
    from jax.sharding import NamedSharding, PartitionSpec
    from global_programs import PROGRAMS
    count = jax.device_count()
    items = {}
    for name, program in PROGRAMS.items():
        def make(program=program):
            step, state, data, state_cuts, data_cuts = program(count)
            mesh = jax.make_mesh((count,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
            named = lambda tree: jax.tree.map(lambda cut: NamedSharding(mesh, cut), tree,
                                              is_leaf=lambda leaf: isinstance(leaf, PartitionSpec))
            state_cuts, data_cuts = named(state_cuts), named(data_cuts)
            jitted = jax.jit(step, in_shardings=(state_cuts, data_cuts),
                             out_shardings=(named(PartitionSpec()), state_cuts), donate_argnums=0)
            state, data = put(state, state_cuts), put(data, data_cuts)

            def call():
                nonlocal state
                value, state = jitted(state, data)
                return value, state
            return call
        items[name] = make
    return items


def put(tree, cuts):
    """Arrays over all devices, those of other processes too."""
    import jax
    import numpy as np
    one = lambda a, cut: jax.make_array_from_callback(np.shape(a), cut, lambda part: np.asarray(a)[part])
    return jax.tree.map(one, tree, cuts)


def eager():
    from eager_calls import eager_calls
    return eager_calls()


GROUPS = {"calls": calls, "transfers": transfers, "programs": programs, "eager": eager, "devices": devices}


# --- answers ---

class Side:
    def __init__(self):
        self.groups, self.made = {}, {}

    def group(self, group):
        if group not in self.groups:
            self.groups[group] = GROUPS[group]()
        return self.groups[group]

    def item(self, group, name):
        item = self.group(group)[name]
        if group not in ("programs", "devices"):
            return item
        if self.made.get("name") != (group, name):
            self.made = {"name": (group, name), "call": item()}
        return self.made["call"]

    def names(self, group):
        return {"names": list(self.group(group))}

    def measure(self, group, name, seconds):
        import jax
        best, middle = time_calls(self.item(group, name), jax.block_until_ready, seconds)
        return {"best": best, "middle": middle}

    def compile(self, name, out):
        """Seconds of tracing and lowering, then of all until the first result; the results go to a file."""
        import jax
        import numpy as np
        from programs import P
        function, args = P[name]
        args = jax.block_until_ready(jax.device_put(args))
        begin = time.perf_counter()
        lowered = jax.jit(lambda *a: function(*a), keep_unused=True).lower(*args)
        lowered_at = time.perf_counter()
        results = jax.block_until_ready(lowered.compile()(*args))
        end = time.perf_counter()
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(results)]
        leaves = [leaf.astype(np.float32) if leaf.dtype == jax.numpy.bfloat16 else leaf for leaf in leaves]
        np.savez(out, *leaves)
        return {"lower": lowered_at - begin, "first": end - lowered_at}


def serve():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    side = Side()
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = getattr(side, question.pop("kind"))(**question)
        except Exception as error:  # the other side goes on
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(answer), file=answers, flush=True)


def forget_others(name):
    """Drops the arrays of all other programs, and begins to count the peak anew."""
    import gc
    import programs
    for other in [other for other in programs.P if other != name]:
        del programs.P[other]
    for held in ("gw", "mlp_w", "spd"):
        delattr(programs, held)
    gc.collect()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def peak(name):
    import jax
    forget_others(name)
    call = programs()[name]()
    for _ in range(3):
        jax.block_until_ready(call())
    with open("/proc/self/status", encoding="ascii") as file:
        print(next(line.split()[1] for line in file if line.startswith("VmHWM")))


def process(name, rank, count, port, seconds):
    import jax
    if port:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"127.0.0.1:{port}", count, rank)
    call = devices()[name]()
    for _ in range(5):
        jax.block_until_ready(call())
    # All processes make the same number of steps: the first one tells by how long they take.
    begin = time.perf_counter()
    jax.block_until_ready(call())
    from jax.experimental import multihost_utils
    took = float(multihost_utils.broadcast_one_to_all(time.perf_counter() - begin))
    times = []
    for _ in range(max(5, min(2000, int(seconds / took)))):
        begin = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - begin)
    times.sort()
    if jax.process_index() == 0:
        print("TIMES", times[0], times[len(times) // 2], flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve()
    elif sys.argv[1] == "--peak":
        peak(sys.argv[2])
    else:
        process(sys.argv[2], *map(int, sys.argv[3:6]), float(sys.argv[6]))
