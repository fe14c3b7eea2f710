#!/usr/bin/env python3
"""Runs random programs in the reference engine, after the passes and in the compiled engine in several ways, and
compares. Processes of compare_engines, one for each width of vectors, run many programs each. A program that fails is
shown as small as it still fails. The last line is "N passed, M failed"."""
import argparse
import concurrent.futures
import os
import select
import subprocess
import sys
import tempfile
import threading
import time

from generate import KINDS, TO_THE_BIT, program
from shrink import shrink

# Ways of the compiled engine: bytes of a vector (None: the machine's), workers, whose code.
WAYS = [(None, "2:own"), ("16", "1:own"), ("32", "3:own"), (None, "8:own"), ("64", "1:own")]
LLVM_WAYS = [(None, "2:llvm"), ("16", "2:llvm"), ("32", "1:llvm")]
LLVM_STRIDE = 4  # LLVM takes ten times as long as all else of a trial: one program of so many
PASSES = (None, "passes")

RTOL = {"bf16": "3e-2", "f16": "4e-3", "f32": "2e-4", "c64": "2e-4", "f64": "1e-9"}
LONGEST_S = 120


class Engines:
    """A process of compare_engines, which is started when it is needed."""

    def __init__(self, command, width):
        self.command, self.environment, self.process = command, dict(os.environ), None
        self.errors = tempfile.TemporaryFile()
        if width:
            self.environment["HLORUN_VECTOR"] = width

    def start(self):
        self.errors.seek(0)
        self.errors.truncate()
        self.process = subprocess.Popen([self.command], env=self.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, bufsize=0)

    def end(self):
        if self.process:
            self.process.kill()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
        self.process = None

    def read_some(self, end):
        """Bytes of the answer; empty at its end, None if the time is over."""
        pipe = self.process.stdout
        if not select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
            return None
        return os.read(pipe.fileno(), 1 << 16)

    def ask(self, trial, ways, seconds):
        """Verdicts and texts of the ways, as far as they were given; the last one tells of the process's end."""
        if not self.process:
            self.start()
        self.process.stdin.write((" ".join([*trial, *ways]) + "\n").encode())
        end, got, answers = time.monotonic() + seconds, b"", []
        while len(answers) < len(ways):
            head, newline, rest = got.partition(b"\n")
            verdict, _, size = head.decode().partition(" ")
            if newline and len(rest) >= int(size):
                answers.append((verdict, rest[:int(size)].decode(errors="replace")))
                got = rest[int(size):]
                continue
            more = self.read_some(end)
            if not more:
                answers.append(("late", f"more than {seconds} s") if more is None else ("died", self.last_words()))
                self.end()
                break
            got += more
        return answers

    def last_words(self):
        self.errors.seek(0)
        return f"exit code {self.process.wait()}\n" + self.errors.read()[-4000:].decode(errors="replace")


class Trial:
    """One program and the inputs it is given, in the ways it is run."""
    of_thread = threading.local()  # .engines: by width

    def __init__(self, options, seed, kind, file):
        self.options, self.seed, self.kind, self.file, self.rtol = options, seed, kind, file, "0"

    def begin(self, text):
        """Results that are not equal to the bit have the tolerance of the program's narrowest floats, since these may
        become any other."""
        if self.kind not in TO_THE_BIT:
            self.rtol = next(rtol for dtype, rtol in RTOL.items() if f"{dtype}[" in text or dtype == "f64")

    def ask(self, text, width, ways, seconds=LONGEST_S):
        engines = self.of_thread.__dict__.setdefault("engines", {})
        if width not in engines:
            engines[width] = Engines(self.options.engines, width)
        with open(self.file, "w") as out:
            out.write(text)
        inputs = "wild" if self.options.wild else "random"
        return engines[width].ask([inputs, str(self.seed), self.rtol, self.file], ways, seconds)

    def first_wrong(self, text, ways):
        """The first way in which the program fails, the verdict and what is said; or None."""
        for width in dict.fromkeys(width for width, _ in ways):
            mine = [way for of_width, way in ways if of_width == width]
            for way, (verdict, said) in zip(mine, self.ask(text, width, mine)):
                if verdict != "same":
                    return (width, way), verdict, said
        return None

    def still_fails(self, way):
        """For shrink(): does another program fail in this way, where it runs at all, and ends soon?"""
        width, name = way
        return lambda text: self.ask(text, width, [name], seconds=5)[-1][0] in ("differs", "died")


def end_engines():
    for engines in Trial.of_thread.__dict__.get("engines", {}).values():
        engines.end()


def ways_of(seed, count):
    ways = [PASSES, *(WAYS[(seed + k) % len(WAYS)] for k in range(min(count, len(WAYS))))]
    return ways if seed % LLVM_STRIDE else [*ways, LLVM_WAYS[seed // LLVM_STRIDE % len(LLVM_WAYS)]]


def try_program(options, seed, kind, folder):
    """The program, small, and what is wrong with it; None where all agree."""
    file = os.path.join(folder, f"p{threading.get_ident()}.hlo")
    trial, text = Trial(options, seed, kind, file), program(seed, kind)
    trial.begin(text)
    wrong = trial.first_wrong(text, ways_of(seed, options.ways))
    if not wrong:
        return None
    (width, way), verdict, said = wrong
    if options.shrink and verdict in ("differs", "died"):
        text = shrink(text, trial.still_fails((width, way)))
    where = f"{way}, HLORUN_VECTOR={width}" if width else way
    return text, f"{kind} program {seed}, {where}: {verdict}: {said}"


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
    parser.add_argument("--engines", required=True, help="the program compare_engines")
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--count", type=int, default=1 << 40, help="programs of each kind")
    parser.add_argument("--seconds", type=float, default=0, help="no new programs after so long (0: all)")
    parser.add_argument("--kinds", help="with commas between them (default: all but sharded)")
    parser.add_argument("--wild", action="store_true",
                        help="inputs with NaN, infinities and ends of types, for programs that are equal to the bit")
    parser.add_argument("--ways", type=int, default=2, help="of running each program with own code")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="folder for programs that fail")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    options = parser.parse_args()
    all_kinds = TO_THE_BIT if options.wild else KINDS
    options.kinds = options.kinds or ",".join(kind for kind in all_kinds if kind != "sharded")
    return options


class Search:
    """Programs are taken from one list by all jobs, each with processes of its own."""

    def __init__(self, options, folder):
        self.options, self.folder, self.lock = options, folder, threading.Lock()
        self.todo, self.passed, self.failed = numbers(options, time.monotonic()), 0, 0

    def next_program(self):
        with self.lock:
            return None if self.failed >= self.options.failures else next(self.todo, None)

    def count(self, seed, kind, failure):
        with self.lock:
            self.passed, self.failed = self.passed + (failure is None), self.failed + (failure is not None)
            if failure:
                report(self.options, seed, kind, failure)

    def job(self):
        while one := self.next_program():
            self.count(*one, try_program(self.options, *one, self.folder))
        end_engines()

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for done in [pool.submit(self.job) for _ in range(self.options.jobs)]:
                done.result()
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed > 0


def main():
    with tempfile.TemporaryDirectory(prefix="hlorun-random.") as folder:
        return Search(read_options(), folder).run()


if __name__ == "__main__":
    sys.exit(main())
