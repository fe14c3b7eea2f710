#!/usr/bin/env python3
"""Feeds a program: the arrays of .npz files, one value a file, to a UNIX socket that `hlorun --infeed unix:PATH` made.

usage: feeder.py PATH VALUE.npz...          in0, in1, ... of each file; "-" as PATH: to standard output
"""
import socket
import struct
import sys
import time

import numpy

NAMES = {"float32": b"f32", "float64": b"f64", "int32": b"s32", "int64": b"s64", "uint8": b"u8", "bool": b"pred"}


def value(arrays):
    parts = [b"HLF1", struct.pack("<I", len(arrays))]
    for array in arrays:
        parts.append(struct.pack("<16sII", NAMES[array.dtype.name], array.ndim, 0))
        parts.append(struct.pack(f"<{array.ndim}q", *array.shape))
        parts.append(array.tobytes() + bytes(-array.nbytes % 8))
    return b"".join(parts)


def connect(path):
    end = socket.socket(socket.AF_UNIX)
    while end.connect_ex(path):
        time.sleep(0.05)
    return end.makefile("wb")


stream = sys.stdout.buffer if sys.argv[1] == "-" else connect(sys.argv[1])
for name in sys.argv[2:]:
    file = numpy.load(name)
    stream.write(value([file[f"in{k}"] for k in range(len(file.files))]))
stream.flush()
