#!/usr/bin/env python3
"""Lets allocation 1, 2, ... of a command fail, for every command and every reader of files: it must end by exit code 5
with a message, or do without; never by a signal, with another exit code, or after a sanitizer's report (of leaks, too).

    failing_allocations.py HLORUN SOURCE [--sample K] [--only TEXT] [--first N]

--sample K tries K allocations of each command, evenly spread, with the first ones whole; without it all are tried.
HLORUN_FAULT=alloc:N lets the Nth allocation of every process fail. The last line is "N passed, N failed". Standard
library only."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

UNTOUCHED = re.compile(r"HLORUN_FAULT: no allocation failed, there were (\d+)")
SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:|Invalid (read|write)")
NO_MEMORY = 5   # exit code
LONGEST_S = 60  # of one command

TWO_FEEDS = """HloModule feeds
ENTRY main {
  t = token[] after-all()
  a = (f32[2], token[]) infeed(t)
  u = token[] get-tuple-element(a), index=1
  x = f32[2] get-tuple-element(a), index=0
  b = ((s32[3], f32[]), token[]) infeed(u)
  v = token[] get-tuple-element(b), index=1
  o = token[] outfeed(x, v)
  ROOT y = f32[2] negate(x)
}
"""
TRAIN = """HloModule train
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  w = f32[8] parameter(0)
  x = f32[2,8] parameter(1)
  z = f32[] constant(0)
  s = f32[8] reduce(x, z), dimensions={0}, to_apply=add
  g = f32[8] all-reduce(s), replica_groups={}, to_apply=add
  l = f32[] reduce(g, z), dimensions={0}, to_apply=add
  n = f32[8] rng(z, l), distribution=rng_uniform
  v = f32[8] add(w, n)
  ROOT t = (f32[8], f32[]) tuple(v, l)
}
"""


def commands(source):
    """(name, words): paths that begin with @ are in the source folder, the others in the scratch folder."""
    hello, tf = ["@examples/hello.hlo", "--input", "@examples/hello.npz"], "@tests/cases/tf/"
    train = ["train.hlo", "--random-inputs=3", "--carry", "0:0", "--feed", "1=rows.npy", "--steps", "6",
             "--no-progress"]
    rows = [("run", hello), ("reference engine", hello + ["--engine", "reference"]),
            ("four processes", ["-n", "4", "@examples/argmax.hlo", "--random-inputs"]),
            ("bytecode", ["hello.mlirbc", "--random-inputs"]), ("proto", ["hello.pb", "--random-inputs"]),
            ("stablehlo", ["hello.mlir", "--random-inputs"]), ("portable", ["portable.mlirbc", "--random-inputs"]),
            ("jax.export", ["@tests/forms/one.jax_export", "--input", "@tests/forms/io.npz"]),
            ("folder of torch", ["@tests/forms/bundle", "--random-inputs"]),
            ("graph", [tf + "lists.pb", "--input", tf + "lists.npz"]),
            ("saved model", ["--feed", "x=f32[5,4]", tf + "adam", "--input", tf + "adam/predict.npz"]),
            ("safetensors", ["@examples/hello.hlo", "-i", "a.safetensors"]),
            ("deflated arrays", ["@examples/hello.hlo", "-i", "deflated.npz"]),
            ("outputs", hello + ["-o", "o.npz", "--stats", "o.json", "--trace", "t.json", "--explain"]),
            ("text output", hello + ["-o", "o.txt"]), ("tensors output", hello + ["-o", "o.safetensors"]),
            ("expected arrays", hello + ["--expect", "@examples/hello.npz"]), ("sandbox", hello + ["--sandbox"]),
            ("training", train + ["--metric", "1=loss", "--curve", "c.svg", "-o", "w.npz"]),
            ("checkpoints", train + ["--checkpoint", "new", "--every", "2", "--overwrite"]),
            ("resume", train + ["--steps", "9", "--checkpoint", "kept", "--resume", "--every", "100"]),
            ("restarts", train + ["--checkpoint", "new", "--overwrite", "--max-restarts", "1"]),
            ("feeds", ["feeds.hlo", "--infeed", "file:in.feed", "--outfeed", "file:/dev/null"]),
            ("arrays as a feed", ["one_feed.hlo", "--infeed", "file:a.npz"]),
            ("probes", hello + ["--probe", ".*", "--dump", "dumped"]),
            ("stages", hello + ["--stop-after", "flat"]), ("verified", ["-n", "4", "@examples/argmax.hlo",
                                                                      "--random-inputs", "--verify-comm"]),
            ("global program", ["global.mlir", "--random-inputs", "-n", "2"]),
            ("check", ["check", "@examples/check/head_to_head.hlo"]),
            ("check any order", ["check", "--any-order", "@examples/check/pipeline.hlo"]),
            ("check, drawn", ["check", "--graph", "g.svg", "@examples/check/pipeline.hlo"]),
            ("test", ["test", "@examples/hello.hlo", "@examples/newton.hlo"]),
            ("schedule gen", ["schedule", "gen", "1f1b", "--stages", "2", "--microbatches", "2", "-o", "pipe"]),
            ("schedule from-hlo", ["schedule", "from-hlo", "sched/rank000.hlo", "sched/rank001.hlo", "-o", "s.txt"]),
            ("schedule to-hlo", ["schedule", "to-hlo", "sched.txt", "-o", "sched2"]),
            ("help", ["help"]), ("help test", ["help", "test"]), ("--list-ops", ["--list-ops"]),
            ("--list-options", ["--list-options"]), ("--version", ["--version"]), ("--check-build", ["--check-build"]),
            ("--print-topology", ["--print-topology"])]
    forms = [("dot", "hello.hlo"), ("mlir", "hello.hlo"), ("mlirbc", "hello.hlo"), ("pb", "hello.hlo"),
             ("python", "hello.hlo"), ("hlo", "hello.mlir")]
    rows += [("convert to " + to, ["convert", "--to", to, "-o", "c." + to, "@examples/" + file if file == "hello.hlo"
                                   else file]) for to, file in forms]
    rows += [("convert graph", ["convert", "--to", "json", tf + "loops.pb"])]
    rows += [("convert portable", ["convert", "--to", "mlirbc", "--target-version", "1.0.0", "-o", "c.bc",
                                   "hello.mlir"])]
    return [(name, [source + word[1:] if word[0] == "@" else word for word in words]) for name, words in rows]


def prepare(options):
    """The files that the commands read."""
    run = [options.hlorun]
    source = options.source
    with open("train.hlo", "w") as file:
        file.write(TRAIN)
    with open("feeds.hlo", "w") as file:
        file.write(TWO_FEEDS)
    with open("one_feed.hlo", "w") as file:
        file.write("HloModule f\nENTRY e {\n  t = token[] after-all()\n  a = (f32[3], token[]) infeed(t)\n"
                   "  ROOT x = f32[3] get-tuple-element(a), index=0\n}\n")
    with open("rows.hlo", "w") as file:
        file.write("HloModule r\nENTRY e {\n  ROOT x = f32[40,8] iota(), iota_dimension=0\n}\n")
    with open("global.mlir", "w") as file:
        file.write("""sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
""")
    leaf = lambda name, dims, data: (name.ljust(16, b"\0") + len(dims).to_bytes(4, "little") + bytes(4) +
                                     b"".join(d.to_bytes(8, "little") for d in dims) + data + bytes(-len(data) % 8))
    with open("in.feed", "wb") as file:
        file.write(b"HLF1\1\0\0\0" + leaf(b"f32", [2], bytes(8)))
        file.write(b"HLF1\2\0\0\0" + leaf(b"s32", [3], bytes(12)) + leaf(b"f32", [], bytes(4)))
    hello = source + "examples/hello.hlo"
    for command in (["convert", "--to", "mlir", "-o", "hello.mlir", hello],
                    ["convert", "--to", "mlirbc", "-o", "hello.mlirbc", hello],
                    ["convert", "--to", "mlirbc", "--target-version", "1.0.0", "-o", "portable.mlirbc", "hello.mlir"],
                    ["convert", "--to", "pb", "-o", "hello.pb", hello], ["rows.hlo", "-o", "rows.npy"],
                    ["schedule", "gen", "1f1b", "--stages", "2", "--microbatches", "2", "-o", "sched"],
                    ["schedule", "from-hlo", "sched/rank000.hlo", "sched/rank001.hlo", "-o", "sched.txt"],
                    ["train.hlo", "--random-inputs=3", "--carry", "0:0", "--feed", "1=rows.npy", "--steps", "6",
                     "--checkpoint", "whole", "--every", "3"]):
        subprocess.run(run + command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    import struct
    import zipfile
    item = lambda: b"\x93NUMPY\1\0\x46\0" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }".ljust(69) + \
        b"\n" + struct.pack("<3f", 1, 2, 3)
    with zipfile.ZipFile("deflated.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("in0.npy", item())
        file.writestr("in1.npy", item())
    with zipfile.ZipFile("a.npz", "w") as file:
        file.writestr("in0.npy", b"\x93NUMPY\1\0\x46\0" +
                      b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(69) + b"\n" + bytes(24))
    header = b'{"in0":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"in1":{"dtype":"F32","shape":[3],"data_offsets":[12,24]}}'
    header += b" " * (-len(header) % 8)
    with open("a.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + struct.pack("<6f", 1, 2, 3, 4, 5, 6))


def attempt(options, words, number):
    for folder in ("kept", "new"):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree("whole", "kept")
    env = dict(os.environ, HLORUN_FAULT="alloc:%d" % number, HLORUN_CACHE="none")
    try:
        done = subprocess.run([options.hlorun] + words, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        return None, "does not end", ""
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    return done.returncode, text, done.stderr.decode("utf-8", "replace")


def problem_of(code, text, usual):
    if code is None:
        return "does not end"
    if SANITIZER.search(text):
        return "a sanitizer's report"
    if code not in (usual, NO_MEMORY):
        return "exit code %d, want %d or %d" % (code, NO_MEMORY, usual)
    if code == NO_MEMORY and "error" not in text:
        return "exit code %d without a message" % code
    return None


def numbers_of(total, options):
    if not options.sample or total <= options.sample:
        return range(options.first, total + 1)
    step = total / options.sample
    return sorted({int(options.first + k * step) for k in range(options.sample)})


def try_command(options, name, words):
    """(passed, failed)"""
    code, text, errors = attempt(options, words, 1 << 40)
    totals = [int(n) for n in UNTOUCHED.findall(errors)]
    usual = code
    if not totals or code not in (0, 4) or SANITIZER.search(text):
        print("FAILED: %s: exit code %s without a fault\n%s" % (name, code, text[-600:]))
        return 0, 1
    passed, failed = 0, 0
    for number in numbers_of(max(totals), options):
        code, text, _ = attempt(options, words, number)
        problem = problem_of(code, text, usual)
        if problem:
            failed += 1
            print("FAILED: %s, allocation %d: %s\n    %s" % (name, number, problem,
                                                             text[-1500:].replace("\n", "\n    ")),
                  flush=True)
        passed += not problem
        if failed >= 10:
            break
    if not options.sample:
        print("%-18s %6d allocations, %d failed" % (name, max(totals), failed), flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hlorun", type=os.path.abspath)
    parser.add_argument("source", type=lambda path: os.path.abspath(path) + "/")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="hlorun-allocations-")
    os.chdir(work)
    passed = failed = 0
    try:
        prepare(options)
        for name, words in commands(options.source):
            if options.only in name:
                more = try_command(options, name, words)
                passed, failed = passed + more[0], failed + more[1]
    finally:
        os.chdir("/")
        shutil.rmtree(work, ignore_errors=True)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


main()
