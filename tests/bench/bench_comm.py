#!/usr/bin/env python3
"""Runs tests/mpi/bench_comm on 2 and 8 ranks; prints a table, and draws bandwidth over size into an .svg.

"memory us" is what merely moving the bytes takes that must be moved, in the same run; "of it" how much of that speed is
reached: more than 100% where what is moved stays in caches that the measurement did not find it in.

usage: bench_comm.py PROGRAM MPIRUN PICTURE.svg [SECONDS [PYTHON]]
PYTHON has jax: all-reduces are then compared with those of JAX over gloo, too.
"""
import math
import os
import socket
import subprocess
import sys

WIDTH, HEIGHT, MARGIN = 360, 240, 44
COLOURS = ((5, "#bbb"), (4, "#c63"), (3, "#1a6"))  # by column of the results


def measure(program, mpirun, ranks, seconds):
    command = [mpirun, "--oversubscribe", "-n", str(ranks), program, "--seconds", seconds]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout
    lines = [line.split() for line in out.splitlines() if len(line.split()) == 6]
    return [(name, int(n), int(size), *map(float, times)) for name, n, size, *times in lines]


def measure_gloo(python, ranks, seconds):
    """Microseconds of JAX's all-reduce, by size."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench_gloo.py")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    processes = [subprocess.Popen([python, script, str(rank), str(ranks), port, seconds], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) for rank in range(ranks)]
    out = [process.communicate(timeout=600)[0] for process in processes][0]
    lines = [line.split() for line in out.splitlines() if line.startswith("jax-gloo")]
    return {int(size): float(us) for _, _, size, us in lines}


def panel(rows, x0, y0, title):
    """One collective on some ranks: GB/s of ours, of MPI's and of memory alone, both axes in powers."""
    lines = [(column, colour) for column, colour in COLOURS if rows[0][column] > 0]
    rates = [row[2] / row[column] / 1e3 for row in rows for column, _ in lines]
    low, high = math.log10(min(rates)), math.log10(max(rates))
    least, most = math.log2(rows[0][2]), math.log2(rows[-1][2])

    def at(size, us):
        x = x0 + MARGIN + (math.log2(size) - least) / (most - least) * (WIDTH - 2 * MARGIN)
        y = y0 + HEIGHT - MARGIN - (math.log10(size / us / 1e3) - low) / (high - low) * (HEIGHT - 2 * MARGIN)
        return f"{x:.1f},{y:.1f}"

    parts = [f'<text x="{x0 + MARGIN}" y="{y0 + 24}" font-weight="bold">{title}</text>']
    for column, colour in lines:
        points = " ".join(at(row[2], row[column]) for row in rows)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for row in rows[::3]:
        x = at(row[2], row[3]).split(",")[0]
        parts.append(f'<text x="{x}" y="{y0 + HEIGHT - 22}" text-anchor="middle">{row[2]}</text>')
    for exponent in range(math.ceil(low), math.floor(high) + 1):
        y = y0 + HEIGHT - MARGIN - (exponent - low) / (high - low) * (HEIGHT - 2 * MARGIN)
        parts.append(f'<text x="{x0 + MARGIN - 6}" y="{y:.1f}" text-anchor="end">{10.0 ** exponent:g}</text>')
        parts.append(f'<path d="M{x0 + MARGIN} {y:.1f}h{WIDTH - 2 * MARGIN}" stroke="#ddd"/>')
    return parts


def draw(results, path):
    names = list(dict.fromkeys(row[0] for row in results))
    ranks = sorted({row[1] for row in results})
    parts = []
    for i, name in enumerate(names):
        for k, n in enumerate(ranks):
            rows = [row for row in results if row[0] == name and row[1] == n]
            parts += panel(rows, k * WIDTH, 30 + i * HEIGHT, f"{name}, {n} ranks")
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * len(ranks)}" height="{HEIGHT * len(names) + 40}" '
            'font-family="sans-serif" font-size="10"><rect width="100%" height="100%" fill="white"/>'
            '<text x="12" y="18" font-size="12">GB/s over bytes: <tspan fill="#1a6">hlorun</tspan>, '
            '<tspan fill="#c63">MPI</tspan>, <tspan fill="#bbb">moving the bytes alone</tspan></text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([head] + parts + ["</svg>\n"]))


def main():
    program, mpirun, picture = sys.argv[1:4]
    seconds, python = (sys.argv[4:] + ["0.3", ""])[0], (sys.argv[5:] + [""])[0]
    results, gloo = [], {}
    for n in (2, 8):
        results += measure(program, mpirun, n, seconds)
        gloo[n] = measure_gloo(python, n, seconds) if python else {}
    print(f"{'collective':20}{'ranks':>5}{'bytes':>10}{'us':>12}{'MPI us':>12}{'times as fast':>15}"
          f"{'memory us':>12}{'of it':>7}" + (f"{'JAX us':>12}{'times':>8}" if python else ""))
    for name, n, size, ours, mpi, memory in results:
        jax = gloo[n].get(size) if name == "all-reduce" else None
        print(f"{name:20}{n:5}{size:10}{ours:12.2f}{mpi:12.2f}{mpi / ours:15.2f}"
              + (f"{memory:12.2f}{memory / ours:7.0%}" if memory else f"{'-':>12}{'-':>7}")
              + (f"{jax:12.1f}{jax / ours:8.1f}" if jax else ""))
    draw(results, picture)


if __name__ == "__main__":
    main()
