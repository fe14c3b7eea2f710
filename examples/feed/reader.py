#!/usr/bin/env python3
"""Prints what a program feeds out through `hlorun --outfeed unix:PATH`, `file:PATH` or `exec:"reader.py -"`.

usage: reader.py PATH          a UNIX socket or a file; "-": standard input
"""
import os
import socket
import stat
import struct
import sys
import time

import numpy

TYPES = {b"f32": "<f4", b"f64": "<f8", b"s32": "<i4", b"s64": "<i8", b"u8": "<u1", b"pred": "?"}


def connect(path):
    end = socket.socket(socket.AF_UNIX)
    while end.connect_ex(path):
        time.sleep(0.05)
    return end.makefile("rb")


def read_leaf(stream):
    name, rank, _ = struct.unpack("<16sII", stream.read(24))
    array = numpy.empty(struct.unpack(f"<{rank}q", stream.read(8 * rank)), TYPES[name.rstrip(b"\0")])
    stream.readinto(memoryview(array).cast("B"))
    stream.read(-array.nbytes % 8)
    return array


path = sys.argv[1]
is_file = os.path.exists(path) and stat.S_ISREG(os.stat(path).st_mode)
stream = sys.stdin.buffer if path == "-" else open(path, "rb") if is_file else connect(path)
while header := stream.read(8):
    leaves = struct.unpack("<4sI", header)[1]
    print(*(read_leaf(stream).tolist() for _ in range(leaves)), flush=True)
