#!/usr/bin/env python3
"""Cuts a random program at random: shardings.py SEED < p.hlo prints the number of processes, a mesh for --mesh and
shardings for --sharding, one a line; nothing if the program has no array to cut. Dimensions need not divide."""
import random
import re
import sys

MESHES = ({"a": 2, "b": 2}, {"a": 4}, {"a": 3}, {"a": 2, "b": 3}, {"a": 2, "b": 2, "c": 2}, {"a": 4, "b": 2})


def sizes(text):
    return [int(size) for size in text.split(",") if size]


def arrays(text):
    """Sizes of parameters by number, and of results in order."""
    entry = text[text.index("ENTRY"):]
    params = {int(number): sizes(dims)
              for dims, number in re.findall(r"\w+\[([\d,]*)\]\S* parameter\((\d+)\)", entry)}
    root = re.search(r"ROOT \S+ = (\(.*?\)|\S+) [\w\-]+\(", entry).group(1)
    return params, [sizes(dims) for _, dims in re.findall(r"(\w+)\[([\d,]*)\]", root)]


def cut(rng, dims, mesh):
    left, parts = list(mesh), []
    rng.shuffle(left)
    for size in dims:
        count = 0
        if left and size > 1 and rng.random() < 0.6:
            count = 1 if rng.random() < 0.8 else min(2, len(left))
        parts.append("+".join(left[:count]) if count else "-")
        left = left[count:]
    return ",".join(parts)


def random_cuts(seed, text):
    """The number of processes, a mesh and shardings for an HLO program; None if it has no array to cut."""
    rng = random.Random(seed)
    params, results = arrays(text)
    mesh = rng.choice(MESHES)
    cuts = [f"in{k}={cut(rng, dims, mesh)}" for k, dims in sorted(params.items()) if dims and rng.random() < 0.8]
    cuts += [f"out{k}={cut(rng, dims, mesh)}" for k, dims in enumerate(results) if dims and rng.random() < 0.5]
    processes = 1
    for size in mesh.values():
        processes *= size
    return (processes, ",".join(f"{axis}={size}" for axis, size in mesh.items()), ";".join(cuts)) if cuts else None


def main():
    found = random_cuts(int(sys.argv[1]), sys.stdin.read())
    if found:
        print(*found, sep="\n")


if __name__ == "__main__":
    main()
