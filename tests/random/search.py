#!/usr/bin/env python3
"""Runs random programs in the reference engine, after the passes and in the compiled engine in several ways, and
compares. A program that fails is shown as small as it still fails. The last line is "N passed, M failed"."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

from generate import KINDS, TO_THE_BIT, program
from shrink import shrink

# What the compiled engine is told: settings, threads.
WAYS = [({}, 2), ({"HLORUN_VECTOR": "16"}, 1), ({"HLORUN_VECTOR": "32"}, 3), ({"HLORUN_X64": "0"}, 2), ({}, 8),
        ({"HLORUN_VECTOR": "16", "HLORUN_X64": "0"}, 2), ({"HLORUN_VECTOR": "32", "HLORUN_X64": "0"}, 1),
        ({"HLORUN_VECTOR": "64"}, 1)]

RTOL = {"bf16": "3e-2", "f16": "4e-3", "f32": "2e-4", "f64": "1e-9"}


def parameters(text):
    """The shapes of the program's parameters."""
    entry = text[text.index("ENTRY"):]
    found = re.findall(r"= (\S+) parameter\((\d+)\)", entry)
    return [shape for shape, _ in sorted(found, key=lambda pair: int(pair[1]))]


class Trial:
    """One program and the ways it is run, in a folder of its own."""

    def __init__(self, options, seed, kind, folder):
        self.hlorun, self.seed, self.kind, self.folder = options.hlorun, seed, kind, folder
        self.given_by = f"--{'wild' if options.wild else 'random'}-inputs={seed}"
        self.file, self.want = os.path.join(folder, "p.hlo"), os.path.join(folder, "want.npz")
        self.arrays, self.inputs = os.path.join(folder, "in.npz"), []
        self.tolerance = ["--ulp", "0"]

    def run(self, settings, *more, seconds=120):
        """What is wrong, or None."""
        command = [self.hlorun, "run", *more]
        try:
            done = subprocess.run(command, env=dict(os.environ, **settings), timeout=seconds, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            return f"more than {seconds} s"
        return None if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout}"

    def begin(self, text):
        """Draws the arrays that the program is given: all runs have the same, whatever becomes of it. Results that
        are not equal to the bit have the tolerance of the program's narrowest floats, since these may become any
        other."""
        shapes = parameters(text)
        names = ", ".join(f"p{k}" for k in range(len(shapes)))
        lines = [f"  p{k} = {shape} parameter({k})" for k, shape in enumerate(shapes)]
        root = f"  ROOT t = ({', '.join(shapes)}) tuple({names})"
        self.write("\n".join(["HloModule given", "ENTRY main {", *lines, root, "}"]))
        wrong = self.run({}, "--engine", "reference", self.file, self.given_by, "-o", self.arrays)
        self.inputs = [word for k in range(len(shapes)) for word in ("-i", f"{k}={self.arrays}:out{k}")]
        if self.kind not in TO_THE_BIT:
            self.tolerance = next(["--rtol", rtol] for dtype, rtol in RTOL.items() if f"{dtype}[" in text or dtype == "f64")
        self.write(text)
        return wrong

    def given(self, file):
        return [file, *self.inputs]

    def compared(self):
        return ["--expect", self.want, *self.tolerance]

    def reference(self, seconds=120):
        return self.run({}, "--engine", "reference", *self.given(self.file), "-o", self.want, seconds=seconds)

    def after_passes(self):
        after = os.path.join(self.folder, "after.hlo")
        return self.run({"HLORUN_VERIFY": "1"}, "--stop-after", "passes", "-o", after, self.file) or \
            self.run({}, "--engine", "reference", *self.given(after), *self.compared())

    def compiled(self, way):
        settings, threads = way
        return self.run(settings, "--cache", "none", "--threads", str(threads), *self.given(self.file), *self.compared())

    def checks(self, ways):
        """The names of what is compared, and the comparisons."""
        yield "after the passes", self.after_passes
        for way in ways:
            said = " ".join([f"{name}={value}" for name, value in way[0].items()] + [f"--threads {way[1]}"])
            yield said, lambda way=way: self.compiled(way)

    def write(self, text):
        with open(self.file, "w") as out:
            out.write(text)

    def still_fails(self, check):
        """For shrink(): does another program fail in the same way, where it runs at all, and ends soon?"""
        def fails(text):
            self.write(text)
            return not self.reference(seconds=2) and bool(check())
        return fails


def ways_of(seed, count):
    return [WAYS[0]] + [WAYS[(seed + k) % len(WAYS)] for k in range(count - 1) if (seed + k) % len(WAYS)]


def try_program(options, seed, kind):
    """Lines to print of a program that fails; None where all agree."""
    with tempfile.TemporaryDirectory(prefix="hlorun-random.") as folder:
        trial, text = Trial(options, seed, kind, folder), program(seed, kind)
        wrong = trial.begin(text) or trial.reference()
        if wrong:
            return text, f"{kind} program {seed} does not run: {wrong}"
        for name, check in trial.checks(ways_of(seed, options.ways)):
            wrong = check()
            if wrong:
                small = shrink(text, trial.still_fails(check)) if options.shrink else text
                return small, f"{kind} program {seed}, {name}: {wrong}"
    return None


def report(options, seed, kind, failure):
    text, what = failure
    print(f"FAILED: {what.rstrip()}")
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
        with open(os.path.join(options.keep, f"{kind}-{seed}.hlo"), "w") as out:
            out.write(f"// {what.splitlines()[0]}\n{text}")
    if options.shrink:
        print(text)
    sys.stdout.flush()


def numbers(options, begin):
    """Seeds and kinds, one kind after the other, until there are enough or the time is over."""
    seed = options.seed
    while seed < options.seed + options.count and (not options.seconds or time.monotonic() - begin < options.seconds):
        for kind in options.kinds.split(","):
            yield seed, kind
        seed += 1


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hlorun", required=True)
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--count", type=int, default=1 << 40, help="programs of each kind")
    parser.add_argument("--seconds", type=float, default=0, help="no new programs after so long (0: all)")
    parser.add_argument("--kinds", help="with commas between them (default: all but sharded)")
    parser.add_argument("--wild", action="store_true",
                        help="inputs with NaN, infinities and ends of types, for programs that are equal to the bit")
    parser.add_argument("--ways", type=int, default=2, help="of running each program compiled")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="folder for programs that fail")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    options = parser.parse_args()
    all_kinds = TO_THE_BIT if options.wild else KINDS
    options.kinds = options.kinds or ",".join(kind for kind in all_kinds if kind != "sharded")
    return options


def main():
    options, passed, failed = read_options(), 0, 0
    todo = numbers(options, time.monotonic())
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {}
        while failed < options.failures:
            for seed, kind in todo:
                running[pool.submit(try_program, options, seed, kind)] = (seed, kind)
                if len(running) >= 2 * options.jobs:
                    break
            if not running:
                break
            for done in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                seed, kind = running.pop(done)
                failure = done.result()
                passed, failed = passed + (failure is None), failed + (failure is not None)
                if failure:
                    report(options, seed, kind, failure)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
