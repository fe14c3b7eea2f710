#!/usr/bin/env bash
# Infeed and outfeed: every kind of place, the example's feeder and reader, and feeds that are wrong, end early or never
# come.
set -u
. "$(dirname "$0")/common.sh"
feed=$source_dir/examples/feed
if ! python3 -c '' 2>/dev/null; then skip "feeds: there is no python3"; finish; exit; fi
cd "$work" || exit 99

# NumPy's files, without NumPy.
python3 - <<'EOF'
import struct, zipfile

def npy(code, shape, data):
    head = repr({"descr": code, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data

def npz(path, *arrays):
    with zipfile.ZipFile(path, "w") as file:
        for k, array in enumerate(arrays):
            file.writestr(f"in{k}.npy", array)

floats = struct.pack("<12f", *range(12))
npz("values.npz", npy("<f4", (3, 4), floats), npy("<i4", (3,), struct.pack("<3i", 7, 8, 9)))
npz("short.npz", npy("<f4", (2, 4), floats[:32]), npy("<i4", (2,), struct.pack("<2i", 7, 8)))
npz("other.npz", npy("<f8", (3, 4), floats + floats), npy("<i4", (3,), struct.pack("<3i", 7, 8, 9)))
EOF
python3 "$feed/feeder.py" - 3 >values.feed
head -c 200 values.feed >torn.feed
head -c 64 /dev/zero >nonsense.feed
printf '%s\n' "[0.0, 2.0, 4.0, 6.0] [7] [0]" "[8.0, 10.0, 12.0, 14.0] [8] [1]" "[16.0, 18.0, 20.0, 22.0] [9] [2]" \
  >wanted

# expect_fed NAME: what was fed out is in the file `got`.
expect_fed() {
  if cmp -s wanted got; then pass; else fail "$1: what was fed out" got; fi
}

# From files, to files.
for from in values.npz values.feed; do
  rm -f out.feed
  expect_exit "$from to a file, reference" 0 "$hlorun" --engine reference --infeed "file:$from" --outfeed \
    file:out.feed "$feed/feed.hlo"
  python3 "$feed/reader.py" out.feed >got
  expect_fed "$from to a file, reference"
  rm -f out.feed
  expect_exit "$from to a file" 0 "$hlorun" --engine compiled --infeed "file:$from" --outfeed file:out.feed \
    "$feed/feed.hlo"
  expect_text "$from to a file" "out0 = f32[] 12"
  python3 "$feed/reader.py" out.feed >got
  expect_fed "$from to a file"
done

# Into lists of values: what the reader prints is in them.
rm -f out.npz
expect_exit "into an archive" 0 "$hlorun" --infeed file:values.npz --outfeed file:out.npz "$feed/feed.hlo"
python3 - >got <<'EOF'
import ast, array, zipfile
lists = []
for name in ("out0.npy", "out1.npy", "out2.npy"):
    data = zipfile.ZipFile("out.npz").read(name)
    size = 10 + int.from_bytes(data[8:10], "little")
    head = ast.literal_eval(data[10:size].decode())
    numbers = array.array({"f4": "f", "i4": "i", "u4": "I"}[head["descr"][1:]])
    numbers.frombytes(data[size:])
    each = len(numbers) // head["shape"][0]
    lists.append([numbers[i * each:(i + 1) * each].tolist() for i in range(head["shape"][0])])
for parts in zip(*lists):
    print(*parts)
EOF
expect_fed "into an archive"
if [ "$(ls out.npz*)" = out.npz ]; then pass; else fail "into an archive: nothing else is left"; fi
expect_exit "into one array" 2 "$hlorun" --infeed file:values.npz --outfeed file:out.npy "$feed/feed.hlo"

# Commands at both ends; inherited files.
expect_exit "commands" 0 "$hlorun" --infeed "exec:cat values.feed" --outfeed "exec:python3 '$feed/reader.py' - >got" \
  "$feed/feed.hlo"
expect_fed "commands"
expect_exit "open files" 0 sh -c '"$0" --infeed fd:5 --outfeed fd:6 "$1" 5<values.feed 6>out.feed' "$hlorun" \
  "$feed/feed.hlo"
python3 "$feed/reader.py" out.feed >got
expect_fed "open files"
expect_exit "a command that fails" 5 "$hlorun" --infeed "exec:exit 3" --outfeed "file:out.feed" "$feed/feed.hlo"
expect_exit "a reader that fails" 5 "$hlorun" --infeed file:values.feed --outfeed "exec:cat >/dev/null; exit 3" \
  "$feed/feed.hlo"

# A standard stream that is a feed is still there for messages, and no file takes its number.
expect_exit "standard input as an infeed" 0 sh -c '"$0" --infeed fd:0 --outfeed fd:2 "$1" <values.feed 2>out.feed' "$hlorun" \
  "$feed/feed.hlo"
python3 "$feed/reader.py" out.feed >got
expect_fed "standard streams"
expect_exit "standard error as an outfeed" 2 "$hlorun" --outfeed fd:2 --infeed nothing "$feed/feed.hlo"
expect_text "standard error as an outfeed" '"nothing" is not a feed'

# Sockets of this user alone.
python3 "$feed/feeder.py" in.socket 3 &
feeder=$!
python3 "$feed/reader.py" out.socket >got &
reader=$!
expect_exit "sockets" 0 "$hlorun" --timeout 20 --infeed unix:in.socket --outfeed unix:out.socket "$feed/feed.hlo"
wait "$feeder" "$reader"
expect_fed "sockets"
if [ ! -e in.socket ] && [ ! -e out.socket ]; then pass; else fail "sockets are removed"; fi
"$hlorun" --timeout 2 --infeed unix:waiting.socket --outfeed file:out.feed "$feed/feed.hlo" >out 2>&1 &
waiting=$!
eventually test -S waiting.socket
if [ "$(stat -c %a waiting.socket)" = 600 ]; then pass; else fail "a socket is private" out; fi
wait "$waiting"
if [ $? -eq 6 ]; then pass; else fail "a feeder that never comes" out; fi
echo mine >precious
expect_exit "a file in the socket's place" 5 "$hlorun" --infeed unix:precious "$feed/feed.hlo"
if [ "$(cat precious)" = mine ]; then pass; else fail "a file in the socket's place is left alone"; fi

# TCP: this machine without a word; other addresses only with a secret, which strangers do not know.
# Not of those that connections are given: one that is tried again and again may at last connect to itself.
free_ports() {
  python3 -c 'import random, socket
ends = []
while len(ends) < 2:
    end = socket.socket()
    try: end.bind(("", random.randrange(20000, 32000)))
    except OSError: continue
    ends.append(end)
ports = [end.getsockname()[1] for end in ends]
for end in ends: end.close()  # before anybody reads the numbers
print(*ports)'
}
read -r port other_port < <(free_ports)
connect='import socket, struct, sys, time
for secret in sys.argv[3:]:
    end = socket.socket()
    for _ in range(1000):
        if not end.connect_ex((sys.argv[1], int(sys.argv[2]))): break
        time.sleep(0.05)
    if secret: end.sendall(b"HLK1" + struct.pack("<I", len(secret)) + secret.encode())
    try: end.sendall(open("values.feed", "rb").read()); end.shutdown(1); end.recv(1)
    except OSError: pass'
python3 -c "$connect" 127.0.0.1 "$port" "" &
feeder=$!
expect_exit "TCP" 0 "$hlorun" --timeout 20 --infeed "tcp:$port" --outfeed file:out.feed "$feed/feed.hlo"
wait "$feeder"
expect_exit "a port that is none" 2 "$hlorun" --infeed tcp:99999 "$feed/feed.hlo"
expect_exit "no port" 2 "$hlorun" --infeed tcp:127.0.0.1: "$feed/feed.hlo"
expect_exit "TCP to others without a secret" 2 "$hlorun" --infeed "tcp:0.0.0.0:$port" "$feed/feed.hlo"
python3 -c "$connect" 127.0.0.1 "$other_port" wrong open-sesame &
feeder=$!
HLORUN_FEED_SECRET=open-sesame
export HLORUN_FEED_SECRET
expect_exit "TCP with a secret" 0 "$hlorun" --timeout 20 --infeed "tcp:0.0.0.0:$other_port" --outfeed file:out.feed \
  "$feed/feed.hlo"
unset HLORUN_FEED_SECRET
wait "$feeder"
python3 "$feed/reader.py" out.feed >got
expect_fed "TCP with a secret"

# Strangers who say nothing, or half a secret, keep nobody out, however many they are; a secret that is set is asked for
# on this machine, too.
strangers='import socket, sys, time
ends = []
for k in range(20):
    end = socket.socket()
    for _ in range(1000):
        if not end.connect_ex((sys.argv[1], int(sys.argv[2]))): break
        time.sleep(0.05)
    if k % 2: end.sendall(b"HLK1\x0b\0\0\0open-")
    ends.append(end)
time.sleep(60)'
for address in 0.0.0.0 127.0.0.1; do
  read -r port other_port < <(free_ports)
  python3 -c "$strangers" 127.0.0.1 "$port" &
  stranger=$!
  (sleep 1 && timeout 20 python3 -c "$connect" 127.0.0.1 "$port" "" wrong open-sesame) &
  feeder=$!
  HLORUN_FEED_SECRET=open-sesame expect_exit "strangers at $address" 0 "$hlorun" --timeout 10 \
    --infeed "tcp:$address:$port" --outfeed file:out.feed "$feed/feed.hlo"
  wait "$feeder"
  kill "$stranger"
  wait "$stranger" 2>/dev/null
  python3 "$feed/reader.py" out.feed >got
  expect_fed "strangers at $address"
done
HLORUN_FEED_SECRET=$(printf '%1025s' x) expect_exit "a secret that is too long" 2 "$hlorun" --infeed "tcp:$port" \
  "$feed/feed.hlo"

# Bits that a type does not have are not read.
while read -r type values; do
  printf '%s\n' "HloModule narrow" "ENTRY main {" "  t = token[] after-all()" \
    "  pair = ($type[4], token[]) infeed(t)" "  ROOT x = $type[4] get-tuple-element(pair), index=0" "}" >narrow.hlo
  python3 -c 'import struct, sys
sys.stdout.buffer.write(b"HLF1" + struct.pack("<I16sIIq", 1, sys.argv[1].encode(), 1, 0, 4) + b"\xff\x80\x7f\x01\0\0\0\0")' \
    "$type" >narrow.feed
  expect_exit "$type with more bits" 0 "$hlorun" --infeed file:narrow.feed narrow.hlo
  expect_text "$type with more bits" "$values"
done <<END
s4 {-1, 0, -1, 1}
u4 {15, 0, 15, 1}
s2 {-1, 0, -1, 1}
u2 {3, 0, 3, 1}
END

# What is wrong is said, and ends the run.
expect_exit "too few values" 5 "$hlorun" --infeed file:short.npz --outfeed file:out.feed "$feed/feed.hlo"
expect_text "too few values" "ended after 2 values"
expect_exit "a torn file" 5 "$hlorun" --infeed file:torn.feed --outfeed file:out.feed "$feed/feed.hlo"
expect_text "a torn file" "in the middle of value"
expect_exit "other types" 3 "$hlorun" --infeed file:other.npz --outfeed file:out.feed "$feed/feed.hlo"
expect_exit "nonsense" 3 "$hlorun" --infeed file:nonsense.feed --outfeed file:out.feed "$feed/feed.hlo"
expect_text "nonsense" "does not begin with HLF1"
expect_exit "nothing feeds it" 3 "$hlorun" "$feed/feed.hlo"
expect_text "nothing feeds it" "--infeed"
expect_exit "no such kind" 2 "$hlorun" --infeed pigeon:coo "$feed/feed.hlo"
# Nobody takes the values, or a command does not end: --timeout holds after the last step, too; what commands started
# ends with them.
expect_exit "a reader that never comes" 6 "$hlorun" --timeout 1 --infeed file:values.feed --outfeed unix:nobody.socket \
  "$feed/feed.hlo"
expect_text "a reader that never comes" "while waiting for the reader of unix:nobody.socket"
if [ ! -e nobody.socket ]; then pass; else fail "a socket that nobody read is removed"; fi
stubborn="trap '' TERM; sleep 1000 & echo \$! >started; wait; wait; true"
for place in "--infeed=exec:$stubborn" "--outfeed=exec:cat >/dev/null; $stubborn"; do
  rm -f started
  case $place in --infeed*) other=--outfeed=file:out.feed ;; *) other=--infeed=file:values.feed ;; esac
  expect_exit "${place%%=*}: a command that does not end" 6 "$hlorun" --timeout 1 "$place" "$other" "$feed/feed.hlo"
  expect_text "${place%%=*}: a command that does not end" "of exec:"
  if [ -s started ] && eventually sh -c "! kill -0 $(cat started) 2>/dev/null"; then pass
  else fail "${place%%=*}: what a command started has ended"; fi
done

if [ -w /dev/full ]; then
  expect_exit "a full disk" 5 "$hlorun" --infeed file:values.feed --outfeed file:/dev/full "$feed/feed.hlo"
fi

# Each process has its own.
cp values.feed values0.feed
cp values.feed values1.feed
leak_check_off
expect_exit "two processes" 0 "$hlorun" -n 2 --infeed 'file:values%r.feed' --outfeed 'file:out%r.feed' "$feed/feed.hlo"
leak_check_on
for rank in 0 1; do
  python3 "$feed/reader.py" "out$rank.feed" >got
  expect_fed "process $rank of two"
done

# Functions of the user's.
if command -v "${cc[0]}" >/dev/null; then
  "${cc[@]}" -shared -fPIC -o collatz.so "$source_dir/examples/plugin/collatz.c" || fail "a plugin is built"
  call="$source_dir/examples/plugin/collatz.hlo"
  expect_exit "a plugin" 0 "$hlorun" --plugin collatz.so --input '0=s32[4]{1,7,27,97}' "$call"
  expect_text "a plugin" "{1, 68, 9343, 9350}"
  expect_exit "no plugin" 3 "$hlorun" --input '0=s32[4]{1,7,27,97}' "$call"
  expect_exit "a plugin that is not there" 5 "$hlorun" --plugin nowhere.so --input '0=s32[4]{1,7,27,97}' "$call"
fi
finish
