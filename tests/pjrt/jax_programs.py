"""JAX on hlorun: a program for each thing that the plugin does. Prints "N passed, N failed[, N skipped]"."""
import glob
import tempfile
import threading
import time
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback, serialize_executable
from jax.sharding import NamedSharding, PartitionSpec as P

from sharded_programs import results_have_shardings
from run_programs import VERSION, Skipped, close, fails_with, needs, run_all, shard_map, test


# Arrays of every kind of type go to a device and come back, also transposed, reversed, with
# gaps, and empty ones: the plugin gets their strides. Types below a byte take one byte each.
@test
def arrays_go_in_and_out():
    for dtype in ["bool", "int4", "uint4", "int8", "int32", "uint32", "bfloat16", "float16", "float32", "complex64",
                  "float8_e4m3fn", "float8_e5m2"]:
        x = np.arange(6).astype(jnp.dtype(dtype)).reshape(2, 3)
        for y in (x, x.T, x[::-1], x[:, ::2], x[:0]):
            got = np.asarray(jax.device_put(y))
            assert got.dtype == y.dtype and got.shape == y.shape
            np.testing.assert_array_equal(got.astype(np.complex64), y.astype(np.complex64))


# A large dense array of NumPy is borrowed, and a result is seen by NumPy in place.
@test
def large_arrays_are_not_copied():
    x = np.arange(1 << 20, dtype=np.float32)
    y = jax.device_put(x)
    assert y.unsafe_buffer_pointer() == x.ctypes.data
    z = jax.jit(lambda a: a + 1)(y)
    assert np.asarray(z).ctypes.data == z.unsafe_buffer_pointer()
    close(z[:3], [1, 2, 3])


# Slices of arrays of other libraries begin anywhere in their memory.
@test
def slices_of_other_libraries():
    if VERSION < (0, 8):
        raise Skipped("it copies what is not aligned, by the CPU backend")
    for dtype in "int8", "float32", "complex64":
        memory = np.arange(100).astype(dtype)
        x = jax.dlpack.from_dlpack(memory[1:])
        assert x.unsafe_buffer_pointer() == memory[1:].ctypes.data
        np.testing.assert_array_equal(jax.jit(lambda v: v + v)(x), memory[1:] + memory[1:])


# A copy has memory of its own, on each device, and so have two results that are one value.
@test
def copies_are_apart():
    def places(x):
        return [shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards]

    for spec in P("x"), P():
        x = jax.device_put(np.arange(16.0), NamedSharding(jax.sharding.Mesh(np.array(jax.devices()), ("x",)), spec))
        y = jnp.array(x, copy=True)
        assert not set(places(x)) & set(places(y)), (places(x), places(y))
        a, b = jax.jit(lambda v: (v + 1, v + 1))(x)
        assert not set(places(a)) & set(places(b)), (places(a), places(b))


# A donated array is deleted. A NumPy view of it keeps its content, as it holds the value.
# Without such a view the result takes the memory of the argument.
@test
def donation():
    f = jax.jit(lambda a: a + 1, donate_argnums=0)
    x = jnp.arange(1000.0)
    view = np.asarray(x)
    y = f(x)
    assert x.is_deleted()
    assert view[1] == 1 and y[1] == 2
    # The second donation has no view beside it: the address stays.
    where = y.unsafe_buffer_pointer()
    assert f(y).unsafe_buffer_pointer() == where


# The argument that is given away is updated, also where another one of its shape is read beside it.
@test
def donation_of_the_second():
    x, y = jnp.arange(1000.0), jnp.arange(1000.0) * 2
    where = y.unsafe_buffer_pointer()
    z = jax.jit(lambda a, b: a * 3 + b, donate_argnums=1)(x, y)
    assert z.unsafe_buffer_pointer() == where and y.is_deleted() and not x.is_deleted()
    close(z[:3], [0, 5, 10])


# A result of another shape and the same size takes the memory of an argument, too.
@test
def donation_to_another_shape():
    if VERSION < (0, 8):
        raise Skipped("it donates to results of the same shape only")
    cut = NamedSharding(jax.sharding.Mesh(np.array(jax.devices()), ("x",)), P("x"))
    z = jax.device_put(np.zeros((16, 1), np.float32), cut)
    jax.jit(lambda a: a.reshape(16), donate_argnums=0, out_shardings=cut)(z)
    assert z.is_deleted()


# The platform is called "cpu": JAX lowers these to custom calls of LAPACK.
@test
def linear_algebra():
    a = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32)
    s = a @ a.T + 5 * np.eye(5, dtype=np.float32)
    close(jnp.linalg.cholesky(s) @ jnp.linalg.cholesky(s).T, s)
    w, v = jnp.linalg.eigh(s)
    np.testing.assert_allclose(v * w @ v.T, s, rtol=1e-4)
    q, r = jnp.linalg.qr(a)
    np.testing.assert_allclose(q @ r, a, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jnp.linalg.solve(s, a), np.linalg.solve(s, a), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(jnp.linalg.svd(a, compute_uv=False), np.linalg.svd(a, compute_uv=False), rtol=1e-4)


# Each product waits for the one before: arguments that are still being computed are taken.
@test
def asynchronous_dispatch():
    f = jax.jit(lambda a: a @ a / jnp.linalg.norm(a))
    x = jnp.ones((600, 600))
    for _ in range(5):
        x = f(x)
    assert np.isfinite(np.asarray(x.block_until_ready())).all()


# Python callbacks: results, effects in their order, and the traceback of a failure, which
# names the file of the callback.
@test
def callbacks():
    seen = []
    f = jax.jit(lambda a: jax.pure_callback(lambda x: np.asarray(x) * 2, jax.ShapeDtypeStruct((3,), jnp.float32), a))
    close(f(jnp.ones(3)), [2, 2, 2])

    @jax.jit
    def g(a):
        io_callback(lambda x: seen.append(float(x)), None, a, ordered=True)
        io_callback(lambda x: seen.append(float(x) + 1), None, a, ordered=True)
        return a

    # Two executions of two ordered effects each.
    g(1.0), g(5.0)
    jax.effects_barrier()
    assert seen == [1, 2, 5, 6], seen

    def wrong(x):
        raise ValueError("said by the callback")

    error = fails_with("said by the callback",
                       jax.jit(lambda a: jax.pure_callback(wrong, jax.ShapeDtypeStruct((), jnp.float32), a)), 1.0)
    assert __file__ in str(error), error


# What a callback of a small program raises is raised by the program's call, in each call.
@test
def small_programs_raise_at_once():
    def check(x):
        time.sleep(0.01)
        if x < 0:
            raise ValueError("it is negative")
        return x

    f = jax.jit(lambda a: (jax.pure_callback(check, jax.ShapeDtypeStruct((), jnp.float32), a), a + 1))
    for x in 1.0, -1.0, 2.0, -2.0, -3.0:
        try:
            f(x)
        except Exception as e:
            assert x < 0 and "it is negative" in str(e), e
        else:
            assert x > 0, x


# A callback that executes a program does not wait for the device that waits for it.
@test
def callback_that_uses_jax():
    def callback(x):
        return np.asarray(jax.jit(lambda a: a @ a)(jnp.asarray(x)))

    x = np.full((200, 200), 0.1, np.float32)
    f = jax.jit(lambda a: jax.pure_callback(callback, jax.ShapeDtypeStruct(x.shape, x.dtype), a))
    np.testing.assert_allclose(f(x), x @ x, rtol=1e-4)


# Programs over eight devices: results have the sharding that the program says, pmap works,
# and an array moves from device to device. Fewer devices: nothing to show.
@test
def collectives_of_several_devices():
    results_have_shardings()
    if len(jax.devices()) < 8:
        return
    mesh = jax.make_mesh((8,), ("i",))
    x = jax.device_put(np.arange(16.0, dtype=np.float32), NamedSharding(mesh, P("i")))
    f = jax.jit(shard_map(lambda a: jax.lax.psum(a, "i") + a, mesh, P("i"), P("i")))
    y = f(x)
    assert y.sharding.is_equivalent_to(NamedSharding(mesh, P("i")), 1)
    close(y, np.tile([56.0, 64.0], 8) + np.arange(16))
    close(jax.pmap(lambda a: a * jax.lax.axis_index("i") + jax.lax.pmean(a, "i"), axis_name="i")(jnp.arange(8.0)),
          np.arange(8.0) ** 2 + 3.5)
    # A copy from device to device.
    moved = jax.device_put(jnp.arange(4), jax.devices()[3])
    assert moved.devices() == {jax.devices()[3]}
    close(moved + 1, [1, 2, 3, 4])


# What propagates may cut a result within an axis of the mesh, for which JAX has no name: it is cut less then.
@test
def results_cut_by_whole_axes():
    results_have_shardings()
    devices = jax.devices()
    if len(devices) < 8:
        return
    mesh = jax.sharding.Mesh(np.array(devices), ("i",))
    x = jax.device_put(np.arange(64.0, dtype=np.float32).reshape(8, 8), NamedSharding(mesh, P("i")))
    y = jax.jit(lambda a: (a * 2).reshape(2, 4, 8))(x)
    close(y, np.arange(64.0).reshape(2, 4, 8) * 2)
    assert y.sharding.spec in (P(), P(None, None, None)), y.sharding
    close(y[1, 2], np.arange(48.0, 56.0) * 2)


# One device of eight fails before a collective: its peers are cancelled, and the next launch
# of the same program works.
@test
def failure_of_one_device_is_not_for_ever():
    results_have_shardings()
    if len(jax.devices()) < 8:
        return
    mesh = jax.make_mesh((8,), ("i",))
    wrong = [True]

    def callback(x):
        if wrong[0] and x[0] == 5:
            raise ValueError("one of eight")
        return x

    def body(a):
        a = jax.pure_callback(callback, jax.ShapeDtypeStruct((1,), jnp.float32), a)
        return jax.lax.psum(a, "i")

    f = jax.jit(shard_map(body, mesh, P("i"), P()))
    x = jax.device_put(np.arange(8.0, dtype=np.float32), NamedSharding(mesh, P("i")))
    try:
        np.asarray(f(x))
    except Exception as e:
        assert "INTERNAL" in str(e) and "one of eight" in str(e), e
    else:
        raise AssertionError("no error")
    # The callback is right from here on.
    wrong[0] = False
    close(f(x), [28.0])


# A product of 4x4 matrices has 2 * 4 * 4 * 4 operations and an argument of 64 bytes. The
# executable comes back from its bytes.
@test
def compiled_programs_tell_of_themselves():
    c = jax.jit(lambda a: a @ a.T).lower(np.ones((4, 4), np.float32)).compile()
    assert c.cost_analysis()["flops"] == 128
    assert c.memory_analysis().argument_size_in_bytes == 64
    one = {"execution_devices": jax.devices()[:1]} if VERSION >= (0, 7) else {}
    again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(c), **one)
    close(again(np.eye(4, dtype=np.float32)), np.eye(4))


# A program for devices that this process does not have is compiled, kept, and run where there are as many.
@test
def compiled_ahead_of_time():
    if VERSION < (0, 7):
        raise Skipped("it makes no devices of a plugin's topology, or loads for none that are given")
    from jax.experimental import topologies
    topology = topologies.get_topology_desc("8", "hlorun")
    mesh = topologies.make_mesh(topology, (4, 2), ("x", "y"))
    f = jax.jit(lambda a: (a @ a.T).sum(0), in_shardings=NamedSharding(mesh, P("x", "y")))
    c = f.lower(jax.ShapeDtypeStruct((8, 8), np.float32)).compile()
    load = serialize_executable.deserialize_and_load
    again = load(*serialize_executable.serialize(c), execution_devices=jax.devices())
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    here = jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
    close(again(jax.device_put(a, NamedSharding(here, P("x", "y")))), (a @ a.T).sum(0))


# A profile has a plane for each device that has run something, with executions and their steps, and one of
# compilations. The programs go on as before it.
@test
def profiles():
    if not hasattr(jax.profiler, "ProfileData"):
        raise Skipped("it cannot read profiles")
    f = jax.jit(lambda a: jnp.sin(a @ a).sum())
    x = np.ones((64, 64), np.float32)
    cut = jax.device_put(np.ones((8, 4), np.float32), NamedSharding(jax.sharding.Mesh(np.array(jax.devices()), ("x",)),
                                                                    P("x")))
    want = float(f(x))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            assert float(f(x)) == want
            float(f(x))
            float(jax.jit(lambda a: jnp.cos(a).sum())(cut))
        (file,) = glob.glob(folder + "/**/*.xplane.pb", recursive=True)
        planes = {plane.name: {line.name: list(line.events) for line in plane.lines}
                  for plane in jax.profiler.ProfileData.from_file(file).planes if "hlorun" in plane.name}
    assert set(planes) == {"/host:hlorun"} | {f"/device:CUSTOM:hlorun:{k}" for k in range(8)}, set(planes)
    runs, steps = (planes["/device:CUSTOM:hlorun:0"][line] for line in ("XLA Modules", "XLA Ops"))
    assert len(runs) == 3 and all(event.name.startswith("jit_") for event in runs), [event.name for event in runs]
    assert sum(event.name.startswith("dot") for event in steps) == 2, [event.name for event in steps]
    assert any(event.name.startswith("all-reduce") for event in steps), [event.name for event in steps]
    assert runs[0].start_ns <= steps[0].start_ns and steps[0].end_ns <= runs[0].end_ns
    assert float(f(x)) == want


# A profile ends while devices compute: it waits for them, and shows what they did.
@test
def profiles_that_end_early():
    results_have_shardings()
    f = jax.jit(lambda a: jax.lax.fori_loop(0, 2000, lambda i, b: jnp.tanh(b @ a), a).sum(axis=1))
    cut = jax.device_put(np.full((8, 64, 64), 0.01, np.float32),
                         NamedSharding(jax.sharding.Mesh(np.array(jax.devices()), ("x",)), P("x")))
    g = jax.jit(jax.vmap(f))
    g(cut).block_until_ready()
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            later = g(cut)
        (file,) = glob.glob(folder + "/**/*.xplane.pb", recursive=True)
        assert open(file, "rb").read().count(b"jit_") > 0
    close(later, g(cut))


# Four threads execute one program at once.
@test
def threads():
    f = jax.jit(lambda a: jnp.tanh(a) + a)
    errors = []

    def run(k):
        try:
            for _ in range(50):
                close(f(jnp.full(10, k)), np.tanh(k) + np.full(10, k))
        except Exception:
            errors.append(traceback.format_exc())

    running = [threading.Thread(target=run, args=(float(k),)) for k in range(4)]
    [t.start() for t in running]
    [t.join() for t in running]
    assert not errors, errors[0]


# A custom call that nobody knows is named in the error.
@test
def errors_name_the_place():
    call = jax.ffi.ffi_call("nobody_has_this", jax.ShapeDtypeStruct((), jnp.float32))
    fails_with("nobody_has_this", jax.jit(lambda a: call(a)), 1.0)


# A loop whose body is one region of code: parts of it read arrays under conditions, at addresses that other parts
# compute.
@test
def integration_of_a_batch():
    from jax.experimental.ode import odeint
    start = np.linspace(0.5, 2, 10, dtype=np.float32).reshape(5, 2)
    with jax.disable_jit():
        got = jax.vmap(lambda x: odeint(lambda y, t: y, x, jnp.array([0.0, 1.0])))(start)
    np.testing.assert_allclose(np.asarray(got[:, 1]), start * np.e, rtol=1e-4)


# A function of Python that changes programs while they are compiled, until it is cleared.
@test
def transformations():
    try:
        from jax._src.lib import hlo
        from jax.extend.xla import PipelineStage, clear_hlo_module_transformation, register_hlo_module_transformation
    except ImportError:
        raise Skipped("it has no transformations of programs")
    def sin_to_cos(program):
        module, changed = hlo.HloModule.from_serialized_hlo_module_proto(program), False
        for computation in module.computations():
            for instr in computation.instructions():
                if instr.opcode == hlo.HloOpcode.kSin:
                    cos = computation.create_unary_instruction(hlo.HloOpcode.kCos, instr.operands()[0])
                    computation.replace_instruction(instr, cos)
                    changed = True
        return module.as_serialized_hlo_module_proto() if changed else None

    def fail(program):
        raise ValueError("not today")

    def run(function):
        x = jax.device_put(np.arange(32.0, dtype=np.float32).reshape(8, 4), sharding)
        jitted = jax.jit(lambda v: jax.lax.cond(v.sum() > 0, jnp.sin, jnp.exp, v))
        y = jitted(x)
        close(y, function(np.asarray(x)))
        assert y.sharding.is_equivalent_to(sharding, 2), y.sharding
        return jitted, x

    cut = NamedSharding(jax.sharding.Mesh(np.array(jax.devices()), ("x",)), P("x"))
    for stage in PipelineStage:
        for sharding in jax.sharding.SingleDeviceSharding(jax.devices()[0]), cut:
            register_hlo_module_transformation(sin_to_cos, name="sin_to_cos", stage=stage)
            changed, x = run(np.cos)
            assert clear_hlo_module_transformation("sin_to_cos", stage)
            run(np.sin)
            with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
                close(changed(x), np.cos(np.asarray(x)))
    register_hlo_module_transformation(fail, name="fail")
    fails_with("not today", jax.jit(lambda v: v + 3), 1.0)
    assert clear_hlo_module_transformation("fail")
    close(jax.jit(lambda v: v + 3)(1.0), 4.0)


# The figures of memory are sensible, and those that are not known are left out.
@test
def figures_of_memory():
    figures = jax.devices()[0].memory_stats()
    assert 0 < figures["bytes_in_use"] <= figures["peak_bytes_in_use"] <= figures["bytes_limit"], figures
    assert all(-1 <= value < 1 << 45 for value in figures.values()), figures


# Denormal numbers are zeros in arithmetic, as on JAX's CPU backend, and stay what they are where they are moved, and
# for NumPy in callbacks, unless JAX calls them by native code of its own.
@test
def denormal_numbers():
    x = np.full(100000, 1e-40, np.float32)
    twice, turned = jax.jit(lambda v: (v * 2, v[::-1]))(x)
    assert not np.any(np.asarray(twice)) and np.array_equal(turned, x)
    if VERSION >= (0, 6):
        twice = jax.jit(lambda v: jax.pure_callback(lambda a: np.asarray(a) * np.float32(2), v, v))(x)
        assert np.array_equal(twice, x * np.float32(2))
    assert x[0] * np.float32(2) != 0
    assert not np.any(np.isfinite(jnp.linalg.inv(jnp.eye(5).at[4].mul(1e-40))))


# A server that hands out arrays on demand, and one that fetches them from it by their number.
@needs("jax.experimental.transfer")
def transfer_servers():
    if VERSION < (0, 7):
        raise Skipped("its servers end the process, on JAX's CPU backend, too")
    from jax.experimental import transfer
    from jax.extend.backend import get_backend
    backend, last = get_backend(), jax.sharding.SingleDeviceSharding(jax.devices()[-1])
    one, other = (transfer.start_transfer_server(backend, "127.0.0.1:0", ["127.0.0.1:0"]) for _ in range(2))
    x = jax.device_put(np.arange(6000.0, dtype=np.float32).reshape(60, 100), jax.devices()[0])
    y = jax.jit(lambda v: (v * 2).astype(jnp.bfloat16))(x)
    want = [np.asarray(x), np.asarray(y)]
    one.await_pull(20, [x, y])
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=last) for array in (x, y)]
    got = other.connect(one.address()).pull(20, shapes)
    assert all(array.sharding == last for array in got)
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(np.asarray(got[1]), want[1])


# An array that no machine holds is one for which memory is exhausted.
@test
def too_large_arrays():
    fails_with("RESOURCE_EXHAUSTED", jnp.zeros, 1 << 50, jnp.int8)


run_all()
