"""The Python module over libhlorun: arguments and results without copies, names, failures, grids."""
import gc
import sys

import numpy as np

import hlorun

passed = failed = 0


def check(condition, what):
    global passed, failed
    if condition:
        passed += 1
    else:
        failed += 1
        print("FAILED:", what)


def refused(call, kind, text, what):
    try:
        call()
    except kind as error:
        check(text in str(error) + getattr(error, "report", ""), f"{what}: {error}")
        return error
    check(False, f"{what}: nothing was raised")


TWICE = """HloModule twice
ENTRY e {
  x = f32[3] parameter(0)
  y.1 = s32[] parameter(1)
  z = f32[3] add(x, x)
  ROOT t = (f32[3], s32[], f32[3]) tuple(z, y.1, x)
}
"""
SUM = """HloModule sum, replica_count=4
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] all-reduce(x), replica_groups={}, to_apply=add }
"""
BF16 = "HloModule b\nENTRY e { x = bf16[2] parameter(0) ROOT y = bf16[2] add(x, x) }\n"
NEGATE = "HloModule n\nENTRY e { x = f64[2,2] parameter(0) ROOT y = f64[2,2] negate(x) }\n"

client = hlorun.Client(alone=True, trace=True)
check(client.rank == 0 and client.world_size == 1, "a client alone")
check(hlorun.version().count(".") == 2, "version")

program = client.load(TWICE)
check("x: f32[3]" in repr(program), f"repr: {program!r}")
x = np.array([1, 2, 3], np.float32)
z, y, same = program(x, 7)
check(z.dtype == np.float32 and list(z) == [2, 4, 6] and int(y) == 7, "results")
check(np.shares_memory(same, x) or list(same) == [1, 2, 3], "a parameter that is a result")
check(not z.flags.writeable, "results are read-only")
z2, y2, _ = program(x=x, y=np.int32(9))
check(list(z2) == [2, 4, 6] and int(y2) == 9, "arguments by name")
del z, y, same, z2, y2, _  # the last result is the argument itself
refused(lambda: program(x), TypeError, "found 1 arguments, want 2", "an argument is missing")
refused(lambda: program(x, 1, q=2), TypeError, "no parameter q", "a name that is not there")
refused(lambda: program(x.astype(np.float64), 1), TypeError, "astype(float32)", "another type")
refused(lambda: program(x, None), TypeError, "parameter 1 (y.1): found an array of object", "None for a number")
refused(lambda: hlorun.Grid("x"), TypeError, "integer", "a grid of no number")
error = refused(lambda: program(np.ones(2, np.float32), 1), hlorun.Error, "f32[3]", "another shape")
check(error.exit_code == 2, "exit code of another shape")
error = refused(lambda: client.load("HloModule bad\nENTRY e { x = f32[ }"), hlorun.Error, "program:2:", "a bad program")
check(str(error).startswith("program:2:"), "the text of an error begins with the place")
check(hlorun.Client.__new__(hlorun.Client).__del__() is None, "a client that was never made")
check(error.exit_code == 3, "exit code of a bad program")
refused(lambda: client.load("/nowhere/x.hlo"), hlorun.Error, "/nowhere/x.hlo", "no such file")

# Memory: arguments are borrowed while they are used, results live as long as arrays look at them.
large = np.arange(1 << 20, dtype=np.float64).reshape(1024, 1024)[:2, :2].copy()
negate = client.load(NEGATE)
result = negate(large)
part = result[1]
del result
gc.collect()
check(list(part) == [-1024, -1025], "a part of a result outlives it")
check(list(negate(large.T).ravel()) == [0, -1024, -1, -1025], "column-major arguments are copied")
check(not hlorun._borrowed, "arguments are let go")
run = negate.start(large)
check(list(run.result()[0]) == [0, -1], "a started execution")
check(run.done(), "a started execution has ended")
check(client.explain()["executions"] >= 4, "explain")

try:
    import ml_dtypes

    check(client.load(BF16)(np.ones(2, ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16, "bf16")
except ImportError:
    raw = client.load(BF16)(np.array([0x3F80, 0x4000], np.uint16).view("V2"))
    check(list(raw.view(np.uint16)) == [0x4000, 0x4080], "bf16 as raw bytes")

client.cancel("enough")
refused(lambda: negate(large), hlorun.Error, "enough", "a cancelled client")
client.resume()
check(negate(large).shape == (2, 2), "a resumed client")

grid = hlorun.Grid(4)
step = grid.load(SUM)
sums = step([(np.full(3, rank, np.float32),) for rank in range(4)])
check(all(list(one) == [6, 6, 6] for one in sums), "a grid of threads")

# The default client belongs to the launcher's world, if there is one.
if len(sys.argv) > 1:
    world = int(sys.argv[1])
    total = hlorun.load(SUM.replace("=4", f"={world}"))
    check(total.client.world_size == world, "the launcher's world")
    check(list(total(np.full(3, 1, np.float32))) == [world] * 3, "a sum over processes")

print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
