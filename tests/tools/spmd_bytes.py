#!/usr/bin/env python3
"""Prints what partitions of global programs send, beside what XLA's send.

usage: spmd_bytes.py HLORUN FOLDER [CASE...]

FOLDER has a folder per program with global.hlo and xla_collectives.json ("partitions", "executed",
"bytes"). Collectives are counted in the program after all passes, times the trip counts of the
loops around them; bytes are those that one partition sends with ring algorithms. Exits with 1 if
some program sends more bytes, or executes more collectives, than XLA's.
"""
import json
import os
import re
import subprocess
import sys

BITS = {"pred": 8, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "f16": 16, "bf16": 16, "s32": 32,
        "u32": 32, "f32": 32, "s64": 64, "u64": 64, "f64": 64, "c64": 64, "c128": 128}
KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
INSTR = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\(")


def bytes_of(shape):
    total = 0
    for dtype, dims in re.findall(r"(\w+)\[([\d,]*)\]", shape):
        count = 1
        for size in filter(None, dims.split(",")):
            count *= int(size)
        total += count * BITS.get(dtype, 32) // 8
    return total


def group_size(line, partitions):
    match = re.search(r"replica_groups=\{\{([\d,]*)\}", line)
    return len(match.group(1).split(",")) if match else partitions


def sent(kind, shape, line, partitions):
    size, group = bytes_of(shape), group_size(line, partitions)
    if kind == "all-reduce":
        return 2 * size * (group - 1) / group
    if kind == "reduce-scatter":
        return size * (group - 1)
    if kind == "collective-permute":
        pairs = re.findall(r"\{(\d+),(\d+)\}", line.split("source_target_pairs=")[1])
        return size * sum(p != q for p, q in pairs) / partitions
    return size * (group - 1) / group


def parse(text):
    """Instruction lines by computation, and the name of the entry."""
    computations, entry, name = {}, None, None
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            name = head.group(2)
            computations[name] = []
            entry = name if head.group(1) else entry
        elif name and INSTR.match(line):
            computations[name].append(line)
    return computations, entry


def trip_count(lines):
    """Of a loop that counts from 0 up to a constant of its condition; 1 if there is none."""
    numbers = [int(n) for n in re.findall(r"[su]\d+\[\] constant\((\d+)\)", "\n".join(lines))]
    return max(numbers) if numbers else 1


def measure(computations, name, partitions):
    count = bytes_sent = 0
    for line in computations.get(name, []):
        shape, op = INSTR.match(line).group(2, 3)
        kind = op[:-6] if op.endswith("-start") else op
        if kind in KINDS:
            if op.endswith("-start") and shape.startswith("("):
                shape = shape[len(shape) // 2:] if kind != "all-reduce" else shape
            count += 1
            bytes_sent += sent(kind, shape, line, partitions)
        times = 1
        if op == "while":
            condition = re.search(r"condition=%?([\w.\-]+)", line).group(1)
            times = trip_count(computations.get(condition, []))
        if op in ("while", "call", "conditional"):
            for callee in re.findall(r"%?([\w.\-]+)", line.split("), ", 1)[-1]):
                if callee in computations and callee != name:
                    more = measure(computations, callee, partitions)
                    count += times * more[0]
                    bytes_sent += times * more[1]
    return count, bytes_sent


def main():
    hlorun, folder, cases = sys.argv[1], sys.argv[2], sys.argv[3:]
    more_bytes = more_count = less = 0
    total = [0, 0]
    print(f"{'program':24} {'sent':>8} {'XLA':>8}   {'ops':>4} {'XLA':>4}")
    for case in cases or sorted(os.listdir(folder)):
        path = os.path.join(folder, case)
        if not os.path.exists(os.path.join(path, "xla_collectives.json")):
            continue
        with open(os.path.join(path, "xla_collectives.json"), encoding="utf-8") as file:
            xla = json.load(file)
        theirs, their_count = xla.get("bytes", 0), xla.get("executed", 0)
        run = subprocess.run([hlorun, "--stop-after", "passes", "-n", str(xla["partitions"]),
                              os.path.join(path, "global.hlo")],
                             capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f"{case}: {run.stderr}")
        computations, entry = parse(run.stdout)
        count, bytes_sent = measure(computations, entry, xla["partitions"])
        bytes_sent = round(bytes_sent)
        marks = ""
        if xla.get("xla") == "right":
            marks += " MORE BYTES" if bytes_sent > theirs + 1 else ""
            marks += " MORE OPS" if count > their_count else ""
            marks += " less" if bytes_sent < theirs - 1 else ""
        more_bytes += "BYTES" in marks
        more_count += "OPS" in marks
        less += "less" in marks
        total[0] += bytes_sent
        total[1] += theirs
        print(f"{case:24} {bytes_sent:8} {theirs:8}   {count:4} {their_count:4}{marks}")
    print(f"{'all':24} {total[0]:8} {total[1]:8}")
    print(f"more bytes than XLA: {more_bytes}, more collectives: {more_count}, fewer bytes: {less}")
    return 1 if more_bytes or more_count else 0


if __name__ == "__main__":
    sys.exit(main())
