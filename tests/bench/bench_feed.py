#!/usr/bin/env python3
"""Bytes a second that come into a program through a UNIX socket, beside what the socket itself can do.

usage: bench_feed.py HLORUN [GIGABYTES]        of each size of value (default 2)

The program takes values in a loop and adds up their first elements, so that it waits for its feed alone. "socket" is a
Python process that reads the same bytes into one buffer and does nothing with them.
"""
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

SIZES = (64 << 10, 1 << 20, 16 << 20)  # bytes of a value
PROGRAM = """HloModule feed
body {{
  state = (s32[], f32[], token[]) parameter(0)
  count = s32[] get-tuple-element(state), index=0
  sum = f32[] get-tuple-element(state), index=1
  before = token[] get-tuple-element(state), index=2
  fed = (f32[{elements}], token[]) infeed(before)
  values = f32[{elements}] get-tuple-element(fed), index=0
  after = token[] get-tuple-element(fed), index=1
  one = s32[] constant(1)
  next = s32[] add(count, one)
  first = f32[1] slice(values), slice={{[0:1]}}
  scalar = f32[] reshape(first)
  total = f32[] add(sum, scalar)
  ROOT again = (s32[], f32[], token[]) tuple(next, total, after)
}}
condition {{
  state = (s32[], f32[], token[]) parameter(0)
  count = s32[] get-tuple-element(state), index=0
  all = s32[] constant({count})
  ROOT more = pred[] compare(count, all), direction=LT
}}
ENTRY main {{
  zero = s32[] constant(0)
  nothing = f32[] constant(0)
  start = token[] after-all()
  state = (s32[], f32[], token[]) tuple(zero, nothing, start)
  end = (s32[], f32[], token[]) while(state), condition=condition, body=body
  ROOT total = f32[] get-tuple-element(end), index=1
}}
"""


def connect(path):
    end = socket.socket(socket.AF_UNIX)
    while end.connect_ex(path):
        time.sleep(0.01)
    return end


def send(path, value, count, times):
    """Notes the seconds from the connection to the last byte."""
    end = connect(path)
    start = time.perf_counter()
    for _ in range(count):
        end.sendall(value)
    end.close()
    times.append(start)


def rate_of_program(hlorun, folder, value, elements, count):
    """GB/s; the connection is made when the program is there, so that its start does not count."""
    path, program = os.path.join(folder, "in"), os.path.join(folder, "feed.hlo")
    with open(program, "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(elements=elements, count=count))
    times = []
    sender = threading.Thread(target=send, args=(path, value, count, times))
    sender.start()
    subprocess.run([hlorun, "--infeed", f"unix:{path}", program], check=True, stdout=subprocess.DEVNULL)
    end = time.perf_counter()
    sender.join()
    return count * len(value) / (end - times[0]) / 1e9


def rate_of_socket(folder, value, count):
    path = os.path.join(folder, "plain")
    reader = f"""
import socket
server = socket.socket(socket.AF_UNIX)
server.bind({path!r})
server.listen()
end, into, left = server.accept()[0], bytearray({len(value)}), {count * len(value)}
while left > 0:
    left -= end.recv_into(into)
"""
    times = []
    sender = threading.Thread(target=send, args=(path, value, count, times))
    sender.start()
    subprocess.run([sys.executable, "-c", reader], check=True)
    end = time.perf_counter()
    sender.join()
    os.unlink(path)
    return count * len(value) / (end - times[0]) / 1e9


def main():
    hlorun, total = sys.argv[1], float((sys.argv[2:] + ["2"])[0]) * 1e9
    print(f"{'bytes of a value':>17}{'hlorun GB/s':>13}{'socket GB/s':>13}")
    for size in SIZES:
        elements, count = size // 4, max(1, int(total / size))
        head = b"HLF1" + struct.pack("<I16sIIq", 1, b"f32", 1, 0, elements)
        with tempfile.TemporaryDirectory() as folder:
            value = head + bytes(size)
            ours = rate_of_program(hlorun, folder, value, elements, count)
            print(f"{size:17}{ours:13.2f}{rate_of_socket(folder, value, count):13.2f}")


if __name__ == "__main__":
    main()
