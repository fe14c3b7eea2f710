#!/usr/bin/env python3
"""Prints what partitions of global programs send, beside what XLA's send.

usage: spmd_bytes.py HLORUN FOLDER LIST [CASE...]

FOLDER has a folder per program with prog.mlir; a line of LIST is the name of one, its number of
partitions, and what XLA's partitions of it send in bytes and execute in collectives, "-" where XLA
is wrong; a number after "at most" allows more collectives than XLA's; comments begin with #.
Collectives are counted in the program after all passes, times the
trip counts of the loops around them; bytes are those that one partition sends with ring algorithms.
Exits with 1 if some program sends more bytes than XLA's, or executes more collectives than that and
than is allowed.
"""
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


def compare(sent_bytes, count, theirs, their_count):
    """What stands after a row."""
    marks = ""
    if theirs == "-":
        return marks
    marks += " MORE BYTES" if sent_bytes > int(theirs) + 1 else ""
    marks += " more collectives" if count > int(their_count) else ""
    marks += " fewer bytes" if sent_bytes < int(theirs) - 1 else ""
    return marks


def main():
    hlorun, folder, list_path, cases = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    totals = {"MORE BYTES": 0, "more collectives": 0, "fewer bytes": 0}
    print(f"{'program':24} {'sent':>8} {'XLA':>8}   {'ops':>4} {'XLA':>4}")
    with open(list_path, encoding="utf-8") as file:
        rows = [line.split("#")[0].split() for line in file if line.split("#")[0].strip()]
    failed = False
    for case, partitions, theirs, their_count, *allowed in rows:
        if cases and case not in cases:
            continue
        run = subprocess.run([hlorun, "--stop-after", "passes", "-n", partitions,
                              os.path.join(folder, case, "prog.mlir")],
                             capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f"{case}: {run.stderr}")
        computations, entry = parse(run.stdout)
        count, sent_bytes = measure(computations, entry, int(partitions))
        sent_bytes = round(sent_bytes)
        marks = compare(sent_bytes, count, theirs, their_count)
        failed |= "more collectives" in marks and not (allowed and count <= int(allowed[-1]))
        for mark in totals:
            totals[mark] += mark in marks
        print(f"{case:24} {sent_bytes:8} {theirs:>8}   {count:4} {their_count:>4}{marks}")
    print(", ".join(f"{mark.lower()}: {number}" for mark, number in totals.items()))
    return 1 if totals["MORE BYTES"] or failed else 0


if __name__ == "__main__":
    sys.exit(main())
