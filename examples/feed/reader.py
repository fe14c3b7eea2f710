#!/usr/bin/env python3
"""Prints what a program feeds out through `hlorun --outfeed unix:PATH`, `file:PATH` or `exec:"reader.py -"`.

usage: reader.py PATH          a UNIX socket or a file; "-": standard input
"""
import array
import math
import os
import socket
import stat
import struct
import sys
import time

TYPES = {b"f32": "f", b"f64": "d", b"s32": "i", b"s64": "q", b"u8": "B", b"pred": "B"}


def connect(path):
    end = socket.socket(socket.AF_UNIX)
    while end.connect_ex(path):
        time.sleep(0.05)
    return end.makefile("rb")


def read_leaf(stream):
    """The numbers of one array, in row-major order; its shape is in `shape`."""
    name, rank, _ = struct.unpack("<16sII", stream.read(24))
    shape = struct.unpack(f"<{rank}q", stream.read(8 * rank))
    numbers = array.array(TYPES[name.rstrip(b"\0")])
    size = numbers.itemsize * math.prod(shape)
    numbers.frombytes(stream.read(size))
    stream.read(-size % 8)
    return numbers.tolist()


path = sys.argv[1]
is_file = os.path.exists(path) and stat.S_ISREG(os.stat(path).st_mode)
stream = sys.stdin.buffer if path == "-" else open(path, "rb") if is_file else connect(path)
while header := stream.read(8):
    leaves = struct.unpack("<4sI", header)[1]
    print(*(read_leaf(stream) for _ in range(leaves)), flush=True)
