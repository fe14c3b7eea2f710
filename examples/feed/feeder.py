#!/usr/bin/env python3
"""Feeds feed.hlo: values of (f32[4], s32) to a UNIX socket that `hlorun --infeed unix:PATH` made.

usage: feeder.py PATH COUNT          "-" as PATH: to standard output
"""
import array
import socket
import struct
import sys
import time


def leaf(name, shape, data):
    """One array: NumPy's `array.tobytes()` serves as data, too."""
    head = struct.pack(f"<16sII{len(shape)}q", name, len(shape), 0, *shape)
    return head + data + bytes(-len(data) % 8)


def value(*leaves):
    return b"HLF1" + struct.pack("<I", len(leaves)) + b"".join(leaves)


def connect(path):
    end = socket.socket(socket.AF_UNIX)
    while end.connect_ex(path):
        time.sleep(0.05)
    return end.makefile("wb")


stream = sys.stdout.buffer if sys.argv[1] == "-" else connect(sys.argv[1])
for k in range(int(sys.argv[2])):
    numbers = array.array("f", range(4 * k, 4 * k + 4))
    stream.write(value(leaf(b"f32", [4], numbers.tobytes()), leaf(b"s32", [], struct.pack("<i", 7 + k))))
stream.flush()
