"""JAX on hlorun: programs of several devices, their shardings, layouts and partitioning; run by jax_programs.py."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.sharding import NamedSharding, PartitionSpec as P

from run_programs import VERSION, Skipped, close, fails_with, test


# Older JAX reads the shardings of results from the program of one partition.
def results_have_shardings():
    if VERSION < (0, 6):
        raise Skipped("its XLA reads no ids of 64 bits, and JAX learns no shardings of results that are not given")


# A callback that is not partitioned sees the whole array, once; a partitioned one is called on
# each of the eight devices with its part.
@test
def one_device_calls_python_for_all():
    results_have_shardings()
    mesh = jax.make_mesh((8,), ("x",))
    x = jax.device_put(np.arange(16, dtype=np.float32), NamedSharding(mesh, P("x")))
    calls = []

    def note(y):
        calls.append(np.asarray(y))
        return np.float32(3)

    def f(a, ordered):
        return a * io_callback(note, jax.ShapeDtypeStruct((), np.float32), a, ordered=ordered)

    for ordered in False, True:
        close(jax.jit(f, static_argnums=1)(x, ordered), 3 * np.arange(16))
    assert [c.shape for c in calls] == [(16,), (16,)], calls
    if not hasattr(jax, "set_mesh"):
        return
    parts = []
    with jax.set_mesh(mesh):
        jax.jit(lambda a: jax.debug.callback(lambda y: parts.append(y.shape), a, partitioned=True))(x)
    jax.effects_barrier()
    assert parts == 8 * [(2,)], parts


# Values that are still to be summed over devices come in and go out as their summands.
@test
def unreduced_arrays():
    if not hasattr(jax, "reshard"):
        raise Skipped("it has no jax.reshard")
    mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        a = jax.device_put(np.arange(12, dtype=np.float32).reshape(4, 3), P(None, None))
        parts = jax.jit(lambda v: v + v, out_shardings=P(None, None, unreduced={"x"}))(a)
        assert parts.sharding.spec.unreduced == {"x"}, parts.sharding
        close(sum(np.asarray(s.data) for s in parts.addressable_shards[::4]), 2 * np.asarray(a))
        twice = jax.jit(lambda v: v + v)(parts)
        assert twice.sharding.spec.unreduced == {"x"}, twice.sharding
        close(jax.reshard(twice, P(None, None)), 4 * np.asarray(a))


# The shardings that the partitioner chooses are told while the program is compiled.
@test
def inspected_shardings():
    if not hasattr(jax, "set_mesh"):
        raise Skipped("it has no jax.set_mesh")
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    seen = []

    def f(a):
        b = jnp.sin(a)
        jax.debug.inspect_array_sharding(b, callback=seen.append)
        return b * b

    with jax.set_mesh(mesh):
        jax.jit(f, in_shardings=NamedSharding(mesh, P("x"))).lower(np.ones(16, np.float32)).compile()
        jax.jit(f, in_shardings=NamedSharding(mesh, P())).lower(np.ones(16, np.float32)).compile()
    assert len(seen) == 2 and seen[0].shard_shape((16,)) == (2,), seen
    assert seen[1].is_fully_replicated, seen


# A function that says in Python how it is divided: rows are cut, the sum over columns is made by
# the program that it answers, with a collective. It is a loop's body, too, and has two results.
@test
def custom_partitioning():
    if VERSION < (0, 7):
        raise Skipped("its custom_partitioning has no rule for Shardy, or another one")
    from jax.experimental.custom_partitioning import custom_partitioning
    asked = []

    @custom_partitioning
    def centred(a):
        return a - a.mean(1, keepdims=True), a.sum()

    def partition(mesh, args, results):
        asked.append(args[0].sharding.spec)
        whole = NamedSharding(mesh, P())

        def part(a):
            mean = jax.lax.pmean(a.mean(1, keepdims=True), "y")
            return a - mean, jax.lax.psum(a.sum(), ("x", "y"))

        return mesh, part, (NamedSharding(mesh, P("x", "y")), whole), (NamedSharding(mesh, P("x", "y")),)

    centred.def_partition(partition, sharding_rule="i j -> i j, ")
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    a = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
    x = jax.device_put(a, NamedSharding(mesh, P("x", "y")))
    with mesh:
        b, total = jax.jit(centred)(x)
        looped = jax.jit(lambda v: jax.lax.fori_loop(0, 3, lambda _, w: centred(w)[0] + 1, v))(x)
    close(b, a - a.mean(1, keepdims=True))
    np.testing.assert_allclose(total, a.sum(), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(looped, a - a.mean(1, keepdims=True) + 1, rtol=1e-4, atol=1e-5)
    assert asked and asked[0][0] == "x", asked
    everywhere = jax.device_put(a, NamedSharding(mesh, P()))  # no value is cut but those of the call
    with mesh:
        b, total = jax.jit(centred)(everywhere)
    close(b, a - a.mean(1, keepdims=True))
    np.testing.assert_allclose(total, a.sum(), rtol=1e-3, atol=1e-5)

    @custom_partitioning
    def wrong(v):
        return v

    def fails(mesh, args, results):
        raise ValueError("said by the partitioner")

    wrong.def_partition(fails, sharding_rule="i j -> i j")
    with mesh:
        fails_with("said by the partitioner", jax.jit(wrong), x)


# Arrays lie as the program asks, and as DLPack gives them.
@test
def layouts():
    if VERSION < (0, 8):
        raise Skipped("it has no Format, or takes arrays from DLPack in row-major order only")
    from jax.experimental.layout import Format, Layout
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    b = jax.device_put(a, Format(Layout((1, 0)), sharding))
    assert b.format.layout.major_to_minor == (1, 0), b.format
    close(b, a)
    close(jax.jit(lambda v: v @ v.T)(b), a @ a.T)
    c = jax.dlpack.from_dlpack(np.arange(64, dtype=np.float32).reshape(8, 8).T)
    close(c, np.arange(64, dtype=np.float32).reshape(8, 8).T)


# The text of a compiled program is that of one partition.
@test
def partitioned_programs_have_a_text():
    results_have_shardings()
    mesh = jax.make_mesh((8,), ("x",))
    x = jax.device_put(np.ones((8, 8), np.float32), NamedSharding(mesh, P("x")))
    text = jax.jit(lambda a: a.sum(0)).lower(x).compile().as_text()
    assert "all-reduce" in text and "f32[1,8]" in text, text


# Arrays go to and from meshes whose devices are in another order; each device has the part that is said of it.
@test
def meshes_in_another_order():
    results_have_shardings()
    devices = np.array(jax.devices())
    if len(devices) < 8:
        return
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    line = jax.make_mesh((8,), ("x",))

    def check(x):
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(shard.data, a[shard.index])

    for order in [7, 6, 5, 4, 3, 2, 1, 0], [3, 1, 4, 0, 5, 7, 2, 6], [1, 0, 3, 2, 5, 4, 7, 6]:
        grid = jax.sharding.Mesh(devices[order].reshape(2, 4), ("a", "b"))
        for spec in P("b", "a"), P(("a", "b")), P(None, "b"), P("a"), P():
            x = jax.device_put(jax.device_put(a, NamedSharding(line, P("x"))), NamedSharding(grid, spec))
            check(x)
            check(jax.device_put(x, NamedSharding(line, P(None, "x"))))
            np.testing.assert_allclose(jax.jit(lambda v: v @ v.T)(x), a @ a.T)
