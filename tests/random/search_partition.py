#!/usr/bin/env python3
"""Runs random global programs on their meshes and on one process of the reference engine, and compares the results.

Kinds: plain programs that are cut by --mesh and --sharding (patterns, exact, orders); programs with shardings of
their own, of operations that need halos, masks and merging (sharded); manual computations on meshes of their own, in
any order of devices (manual). Every third seed runs on the reference engine, the others on the compiled one, or all
on the one that is named. A program that fails is left in --keep. The last line is "N passed, M failed"."""
import argparse
import os
import subprocess
import sys
import tempfile

from generate import program
from manual_programs import ManualProgram
from shardings import random_cuts

KINDS = ("patterns", "exact", "orders", "sharded", "manual")


class Search:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.whole, self.cut = os.path.join(folder, "whole"), os.path.join(folder, "cut")
        self.one = os.path.join(folder, "one.npz")

    def write(self, kind, seed):
        """The program as a whole and cut; the options of the cut one, None if it has nothing to cut."""
        if kind == "manual":
            made = ManualProgram(seed)
            cut, whole = made.texts()
            options = ["-n", str(made.devices)]
        else:
            cut = whole = program(seed, kind)
            options = self.cuts(kind, seed, cut)
        for path, text in ((self.whole, whole), (self.cut, cut)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return options

    @staticmethod
    def cuts(kind, seed, text):
        if kind == "sharded":
            return ["-n", text.split("num_partitions=")[1].split(",")[0].split()[0], "--ulp", "0"]
        found = random_cuts(seed, text)
        return found and ["-n", str(found[0]), "--mesh", found[1], "--sharding", found[2]]

    def run(self, seed, *more):
        """What is wrong, or None."""
        inputs = f"--{'wild' if self.options.wild else 'random'}-inputs={seed}"
        command = [self.options.hlorun, "run", "--quiet", "--denormals", "keep", inputs, *more]
        try:
            done = subprocess.run(command, timeout=self.options.seconds, stdin=subprocess.DEVNULL, text=True,
                                  check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        except subprocess.TimeoutExpired:
            return f"more than {self.options.seconds} s"
        return None if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout}"

    def try_one(self, kind, seed):
        """True if it passed, None if there was nothing to cut."""
        cuts = self.write(kind, seed)
        if not cuts:
            return None
        engine = self.options.engine or ("compiled" if seed % 3 else "reference")
        wrong = self.run(seed, "-n", "1", "--engine", "reference", "--output", self.one, self.whole)
        if not wrong:
            wrong = self.run(seed, *cuts, "--engine", engine, "--threads", "1",
                             "--gather-limit", self.options.gather_limit, "--expect", self.one, self.cut)
        if wrong:
            print(f"{kind} {seed}, engine {engine}, {' '.join(cuts)}: {wrong}", flush=True)
            if self.options.keep:
                os.replace(self.cut, os.path.join(self.options.keep, f"{kind}-{seed}"))
        return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hlorun", required=True)
    parser.add_argument("--wild", action="store_true", help="inputs with NaN, infinities and ends of types")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--engine", choices=("compiled", "reference"))
    parser.add_argument("--keep", help="folder for programs that fail")
    parser.add_argument("--gather-limit", default="268435456", help="as hlorun's; 1: no product gathers an operand")
    parser.add_argument("--seconds", type=int, default=600, help="for one run")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    options = parser.parse_args()
    counts = {True: 0, False: 0, None: 0}
    with tempfile.TemporaryDirectory() as folder:
        search = Search(options, folder)
        for seed in range(options.first, options.first + options.count):
            for kind in options.kinds.split(","):
                counts[search.try_one(kind, seed)] += 1
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


if __name__ == "__main__":
    main()
