#!/usr/bin/env bash
# Files that lie or change while they are read, sizes that lead nowhere, cases that ask for the impossible: each is said
# in a moment, and nothing crashes or hangs.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99
leak_check_off

printf '%s\n' "HloModule twice" "ENTRY main {" "  x = f32[3] parameter(0)" "  ROOT y = f32[3] add(x, x)" "}" >twice.hlo
printf '%s\n' "HloModule one" "ENTRY main {" "  ROOT c = f32[] constant(1)" "}" >one.hlo

# quickly NAME CODE COMMAND...: the same as expect_exit, within a minute and 4 GB of addresses; sanitizers need more.
addresses_kb=4000000
if [ -n "$(sanitizer_flags)" ]; then addresses_kb=unlimited; fi
quickly() {
  local name=$1 code=$2
  shift 2
  expect_exit "$name" "$code" sh -c "ulimit -v $addresses_kb"'; exec timeout 60 "$@"' sh "$@"
}

# Results without elements are shortened as well.
for shape in 4294967296,4294967296,0 100000,100,0; do
  printf '%s\n' "HloModule none" "ENTRY main {" "  ROOT x = f32[$shape] iota(), iota_dimension=0" "}" >none.hlo
  quickly "no elements in [$shape]" 0 "$hlorun" none.hlo
  if [ "$(wc -c <"$work/out")" -lt 4000 ]; then pass; else fail "[$shape] prints $(wc -c <"$work/out") bytes"; fi
done

# So are constants without elements, and what is written reads back.
for constant in 'u32[1000000000000000,0,3] constant(4)' 'pred[999999,0] constant(1)' 'c64[7,88888,0,2] constant((1, 2))'; do
  printf '%s\n' "HloModule none" "ENTRY main {" "  ROOT x = $constant" "}" >none.hlo
  quickly "$constant" 0 "$hlorun" convert --to hlo none.hlo && cp "$work/out" once.hlo
  quickly "$constant, read back" 0 "$hlorun" convert --to hlo once.hlo
  if cmp -s "$work/out" once.hlo; then pass; else fail "$constant does not read back" "$work/out"; fi
done

# Memory that processes share is mapped by all of them: it fits a limit of addresses, as batch systems set it.
write_sum sum 1000000 0.125
quickly "8 processes with 4 GB of addresses" 0 "$hlorun" -n 8 --input 0=3 sum.hlo
expect_text "8 processes with 4 GB of addresses" "out0 = f32[1000000] {3, 3, 3"

# The check sum of a stored array, large and small.
expect_exit "arrays" 0 "$hlorun" --input '0=f32[3]{1,2,3}' -o whole.npz twice.hlo
if command -v python3 >/dev/null; then
  python3 -c 'import sys
data = bytearray(open("whole.npz", "rb").read())
at = data.find(bytes.fromhex("000080400000c040"))  # 4 and 6
data[at] ^= 1
open("flipped.npz", "wb").write(data)'
  expect_exit "a flipped bit" 3 "$hlorun" --input "0=flipped.npz:out0" twice.hlo
  expect_text "a flipped bit" "out0.npy is damaged: its check sum is wrong"

  # A small file that would become 256 MB, of which 12 bytes are wanted.
  python3 -c 'import struct, zipfile
head = b"{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (3,), }"
head += b" " * (-(len(head) + 11) % 64) + b"\n"
with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive, archive.open("in0.npy", "w", force_zip64=True) as f:
    f.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head)
    for _ in range(256): f.write(bytes(1 << 20))'
  quickly "an array that is larger than it says" 3 "$hlorun" --input bomb.npz twice.hlo
  expect_text "an array that is larger than it says" "its shape says 140"

  # A data set that is cut while it is read.
  python3 -c 'import struct
head = b"{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (4000000, 3), }"
head += b" " * (-(len(head) + 11) % 64) + b"\n"
with open("rows.npy", "wb") as file:
    file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head)
    file.truncate(10 + len(head) + 48000000)'
  printf '%s\n' "HloModule rows" "ENTRY main {" "  x = f32[1,3] parameter(0)" "  s = f32[] parameter(1)" \
    "  c = f32[] constant(1)" "  ROOT y = f32[] add(s, c)" "}" >rows.hlo
  code=0
  rm -rf logs
  HLORUN_LOG=cli:info timeout -k 5 100 "$hlorun" --epochs 100 --feed 0=rows.npy --input 1=0 --carry 0:1 --log-dir logs \
    rows.hlo >out 2>&1 </dev/null &
  pid=$!
  eventually is_mapped "$work/rows.npy"
  truncate -s 1000 rows.npy
  wait $pid || code=$?
  if [ $code -eq 5 ] && grep -q "error: rows.npy was cut off while it was read" out &&
    grep -q "error: rows.npy was cut off while it was read" logs/rank0.log; then
    pass
  else
    echo "exit code $code, want 5" >>out
    fail "a data set that is cut" out
  fi
else
  skip "no python3: damaged files"
fi

# A small file that would become 512 MB.
if command -v gzip >/dev/null; then
  head -c 512M /dev/zero | gzip -1 >bomb.gz
  quickly "a packed program that fills memory" 3 "$hlorun" check bomb.gz
  expect_text "a packed program that fills memory" "bomb.gz becomes more than 256 MiB when it is unpacked"
  head -c 100M /dev/zero | gzip -1 >small.gz
  expect_exit "a packed program of zeros" 3 "$hlorun" check small.gz
  expect_text "a packed program of zeros" "found a byte of value 0"
else
  skip "no gzip"
fi

# Pipes whose other end nobody opens, or that bring nothing, wait as long as --timeout says.
mkfifo silent named
# A program in a pipe is read once, however often it is needed.
(timeout 60 sh -c 'cat twice.hlo >named' &)
expect_exit "a program in a named pipe" 0 timeout 30 "$hlorun" --random-inputs named
cat >feeds.hlo <<'END'
HloModule feeds
ENTRY main {
  start = token[] after-all()
  in = (f32[3], token[]) infeed(start)
  x = f32[3] get-tuple-element(in), index=0
  next = token[] get-tuple-element(in), index=1
  ROOT sent = token[] outfeed(x, next)
}
END
waits() { # NAME TEXT ARGUMENTS...
  expect_exit "$1" 6 timeout 60 "$hlorun" --timeout 0.2 "${@:3}" && expect_text "$1" "waited 0.2 s for $2 "
}
waits "a program from a silent pipe" "input from" --random-inputs silent
waits "a program from a silent pipe, two ranks" "input from" -n 2 --random-inputs silent
waits "a silent pipe that is no command" "input from" --random-inputs ./silent
waits "arrays from a silent pipe" "input from" --input silent twice.hlo
waits "results to a pipe without a reader" "a reader of" --random-inputs -o silent twice.hlo
waits "an infeed from a silent pipe" "input from" --infeed file:silent feeds.hlo
waits "an outfeed without a reader" "a reader of" --infeed file:/dev/null --outfeed file:silent feeds.hlo
sleep 600 >silent &
writer=$!
waits "a pipe whose writer is silent" "input from" --random-inputs silent
kill $writer
expect_exit "a silent pipe as a plugin" 5 timeout 60 "$hlorun" --plugin ./silent --random-inputs twice.hlo
expect_text "a silent pipe as a plugin" "cannot load the plugin ./silent: it is no regular file"
expect_exit "a silent pipe as LLVM" 0 timeout 60 env HLORUN_X64=0 HLORUN_LLVM=./silent "$hlorun" --cache none \
  --random-inputs twice.hlo
expect_text "a silent pipe as LLVM" "it is no regular file"
chmod +x silent
expect_exit "a pipe is no executable" 6 timeout 60 "$hlorun" --timeout 0.2 ./silent --random-inputs
(cat twice.hlo >silent) &
expect_exit "a pipe that is written" 0 "$hlorun" --timeout 60 --input '0=f32[3]{1,2,3}' silent
expect_text "a pipe that is written" "{2, 4, 6}"

# Devices without an end.
quickly "a program without an end" 3 "$hlorun" check /dev/zero
expect_text "a program without an end" "it has no end within 16 MiB"
quickly "arrays without an end" 3 "$hlorun" --input /dev/zero twice.hlo
quickly "a file of the kernel's without an end" 3 "$hlorun" check /proc/self/pagemap
expect_text "a file of the kernel's without an end" "it has no end within 16 MiB"
expect_exit "a tuning table without an end" 0 env HLORUN_TUNING=/dev/zero "$hlorun" -n 2 --random-inputs twice.hlo
expect_text "a tuning table without an end" "it has more than 16777216 bytes"

# A file of holes has any size and takes no room: neither is its end looked for, nor a line's, nor a digest made.
for start in 'HloModule x' 'module {' ranks ''; do
  printf %s "$start" >holes
  truncate -s 1T holes 2>/dev/null || { skip "files of holes"; break; }
  expect_exit "a program of holes is checked" 3 timeout 20 "$hlorun" check holes
  for ranks in "" "-n 1" "-n 2"; do expect_exit "a program of holes" 3 timeout 20 "$hlorun" $ranks holes; done
  expect_exit "a schedule of holes" 3 timeout 20 "$hlorun" schedule to-hlo holes
done
printf x >holes
if truncate -s 1T holes 2>/dev/null; then
  quickly "a file of holes that cannot be mapped" 5 "$hlorun" --random-inputs holes
  expect_text "a file of holes that cannot be mapped" "no room for its 1099511627776 bytes"
fi
rm -f holes

# Limits of memory and time.
printf '%s\n' "HloModule large" \
  "less {" "  a = f32[] parameter(0)" "  b = f32[] parameter(1)" "  ROOT l = pred[] compare(a, b), direction=LT" "}" \
  "ENTRY main {" "  x = f32[20000,20000] iota(), iota_dimension=0" "  y = f32[20000,20000] sine(x)" \
  "  z = f32[20000,20000] sort(y), dimensions={1}, to_apply=less" \
  "  ROOT c = f32[1,1] slice(z), slice={[0:1], [0:1]}" "}" >large.hlo
expect_exit "more memory than --max-memory" 3 "$hlorun" --threads 1 --max-memory 256M large.hlo
expect_text "more memory than --max-memory" "this process has 0.2 GiB"
expect_exit "no memory for a thread" 5 "$hlorun" --threads 1 --max-memory 1M --input '0=f32[3]{1,2,3}' twice.hlo
expect_text "no memory for a thread" "no room for a thread: ulimit -d, -v or -u, or --max-memory"
expect_exit "as much as --max-memory" 0 "$hlorun" --threads 1 --max-memory 1G --input '0=f32[3]{1,2,3}' twice.hlo
# expect_memory NAME CODE KB COMMAND...: exits with CODE and takes that many kilobytes at most.
expect_memory() {
  local name=$1
  shift
  if ! command -v python3 >/dev/null || [ -n "$(sanitizer_flags)" ]; then
    skip "no python3, or sanitizers: $name"
    return
  fi
  timeout 120 python3 -c 'import resource, subprocess, sys
want, limit = int(sys.argv[1]), int(sys.argv[2])
code = subprocess.run(sys.argv[3:]).returncode
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print("exit code %d, want %d; %d KB, want %d at most" % (code, want, most, limit))
sys.exit(code != want or most > limit)' "$@" >out 2>&1 </dev/null && pass || fail "$name" out
}

# They hold as well while the program is read to learn how many processes it wants: this one takes 160 MB to read.
{
  echo '!a0 = tensor<f32>'
  for i in $(seq 19); do echo "!a$i = tuple<!a$((i - 1)), !a$((i - 1))>"; done
  echo 'func.func @main(%a: !a19, %b: !a19, %c: !a19) { return }'
} >parts.mlir
expect_memory "memory while a program is read" 5 120000 "$hlorun" --max-memory 32M --random-inputs parts.mlir
for size in 0 -1 x 3X 1e30; do
  expect_exit "--max-memory $size" 2 "$hlorun" --max-memory="$size" --input '0=f32[3]{1,2,3}' twice.hlo
done
write_sum busy 4096 0.1
for ranks in 1 3; do
  code=0 began=$(date +%s)
  timeout -k 5 60 "$hlorun" -n $ranks --max-time 2 --log-dir logs --steps 100000000 --carry 0:0 --random-inputs busy.hlo \
    >out 2>&1 </dev/null || code=$?
  if [ $code -eq 6 ] && [ $(($(date +%s) - began)) -lt 20 ]; then pass; else fail "--max-time, $ranks ranks: $code" out; fi
  if [ "$(grep -c "the time of --max-time is over" out)" -eq 1 ] &&
    grep -q "the time of --max-time is over" logs/rank0.log; then pass; else fail "--max-time is said once" out; fi
done
code=0
timeout -k 5 60 "$hlorun" --max-time 2 --max-restarts 5 --checkpoint kept --steps 100000000 --carry 0:0 --random-inputs \
  busy.hlo >out 2>&1 </dev/null || code=$?
if [ $code -eq 6 ] && ! grep -q "hlorun: restart" out; then pass; else fail "--max-time and restarts: $code" out; fi
# So do the pauses between restarts: the sixth, of 8 s, begins when the runs and pauses before it took 7.75 s at least.
code=0 began=$(date +%s)
timeout -k 5 60 "$hlorun" --max-time 9 --max-restarts 50 --checkpoint kept --overwrite --carry 0:0 --input nowhere.npz \
  busy.hlo >out 2>&1 </dev/null || code=$?
echo "exit code $code, want 6; it took $(($(date +%s) - began)) s" >>out
if [ $code -eq 6 ] && [ $(($(date +%s) - began)) -lt 15 ]; then pass; else fail "--max-time and pauses" out; fi
# The time counts from the start of the process that the user started, if its host is this one.
expect_exit "--max-time of this host's process" 6 env "HLORUN_TIME_END=$(hostname):1" "$hlorun" --max-time 100 \
  --steps 100000000 --carry 0:0 --random-inputs busy.hlo
expect_exit "--max-time of another host's process" 0 env HLORUN_TIME_END=elsewhere:1 "$hlorun" --max-time 100 \
  --input '0=f32[3]{1,2,3}' twice.hlo
expect_exit "--max-time that is enough" 0 "$hlorun" --max-time 100 --input '0=f32[3]{1,2,3}' twice.hlo

# numbered COUNT TEXT SEPARATOR: the text COUNT times, "#" replaced by the number. Without gsub, whose time in mawk grows
# with the square of the calls.
numbered() {
  awk -v n="$1" -v text="$2" -v separator="$3" 'BEGIN {
    count = split(text, pieces, "#")
    for (i = 0; i < n; i++) {
      line = pieces[1]
      for (k = 2; k <= count; k++) line = line i pieces[k]
      printf "%s%s", i ? separator : "", line
    }
    print "" }'
}

# Time grows with the number of parameters, results and branches, not with its square.
many() { numbered 200000 "$1" ", "; }
{
  echo 'HloModule many ENTRY main {'
  awk 'BEGIN { for (i = 0; i < 200000; i++) printf "p%d = f32[] parameter(%d)\n", i, i }'
  echo 'ROOT y = f32[] add(p0, p199999) }'
} >parameters.hlo
{
  echo 'HloModule many ENTRY main { p = f32[] parameter(0)'
  echo "ROOT y = ($(many 'f32[]')) tuple($(many p)) }"
} >results.hlo
{
  echo 'HloModule many b { ROOT p = f32[] parameter(0) } ENTRY main { i = s32[] parameter(0) p = f32[] parameter(1)'
  echo "ROOT y = f32[] conditional(i, $(many p)), branch_computations={$(many b)} }"
} >branches.hlo
for program in parameters results branches; do
  expect_exit "200000 $program" 0 sh -c 'ulimit -t 20; exec "$@"' sh "$hlorun" --random-inputs --cache none -o many.npz "$program.hlo"
  expect_exit "200000 $program, check" 0 sh -c 'ulimit -t 20; exec "$@"' sh "$hlorun" check "$program.hlo"
done

# So it does with operands of one operation, aliases, slices of one array, and users of one parameter.
joined() { numbered "$1" "$2" ", "; }
lines() { numbered "$1" "$2" "\n"; }
{
  echo 'HloModule operands less {'
  lines 20000 'a# = f32[] parameter(#)' | awk '{ sub(/[0-9]+\)/, 2 * (NR - 1) ")"); print }'
  lines 20000 'b# = f32[] parameter(#)' | awk '{ sub(/[0-9]+\)/, 2 * NR - 1 ")"); print }'
  echo 'ROOT c = pred[] compare(a0, b0), direction=LT } ENTRY main { p = f32[4] parameter(0)'
  echo "ROOT r = ($(joined 20000 'f32[4]')) sort($(joined 20000 p)), dimensions={0}, to_apply=less }"
} >operands.hlo
{
  echo "HloModule aliases, input_output_alias={ $(joined 20000 '{#}: (#, {}, may-alias)') } ENTRY main {"
  lines 20000 'p# = f32[] parameter(#)'
  echo "ROOT r = ($(joined 20000 'f32[]')) tuple($(joined 20000 'p#')) }"
} >aliases.hlo
{
  echo 'HloModule slices ENTRY main { p = f32[100000] parameter(0)'
  awk 'BEGIN { for (i = 0; i < 100000; i++) printf "v%d = f32[1] slice(p), slice={[%d:%d]}\n", i, i, i + 1 }'
  echo "ROOT r = ($(joined 100000 'f32[1]')) tuple($(joined 100000 'v#')) }"
} >slices.hlo
{
  echo 'HloModule sums add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }'
  echo 'ENTRY main { p = f32[4] parameter(0)'
  echo "ROOT r = ($(joined 200000 'f32[4]')) all-reduce($(joined 200000 p)), to_apply=add, replica_groups={} }"
} >sums.hlo
{
  echo 'HloModule groups, replica_count=400000'
  echo 'add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }'
  echo 'ENTRY main { p = f32[] parameter(0)'
  echo "ROOT r = f32[] all-reduce(p), to_apply=add, replica_groups={$(joined 400000 '{#}')} }"
} >groups.hlo
# And with operations of one shape that differ only in an attribute, with functions, loops, and terms of a sum.
{
  echo 'HloModule pads ENTRY main { p = f32[4] parameter(0) z = f32[] constant(0)'
  lines 60000 'a# = f32[4] pad(p, z), padding=#_-#'
  echo "ROOT r = ($(joined 60000 'f32[4]')) tuple($(joined 60000 'a#')) }"
} >pads.hlo
{
  echo 'HloModule functions'
  lines 40000 'f_# { a = f32[4] parameter(0) c = f32[] constant(#) b = f32[4] broadcast(c), dimensions={} ROOT s = f32[4] add(a, b) }'
  echo 'ENTRY main { x_0 = f32[4] parameter(0)'
  lines 40000 '#' | awk '{ printf "x_%d = f32[4] call(x_%d), to_apply=f_%d\n", NR, NR - 1, NR - 1 }'
  echo 'ROOT r = f32[4] copy(x_40000) }'
} >functions.hlo
{
  echo 'HloModule loops'
  lines 20000 'c_# { t = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(t), index=0 n = s32[] constant(#) ROOT l = pred[] compare(i, n), direction=LT }'
  echo 'body { t = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(t), index=0 v = f32[4] get-tuple-element(t), index=1'
  echo 'o = s32[] constant(1) j = s32[] add(i, o) w = f32[4] cosine(v) ROOT u = (s32[], f32[4]) tuple(j, w) }'
  echo 'ENTRY main { x_0 = (s32[], f32[4]) parameter(0)'
  lines 20000 '#' |
    awk '{ printf "x_%d = (s32[], f32[4]) while(x_%d), condition=c_%d, body=body\n", NR, NR - 1, NR - 1 }'
  echo 'ROOT r = f32[4] get-tuple-element(x_20000), index=1 }'
} >loops.hlo
for program in pads functions loops; do
  expect_exit "many $program" 0 sh -c 'ulimit -t 15; exec "$@"' sh "$hlorun" --random-inputs --cache none -o many.npz \
    "$program.hlo"
done
expect_exit "many groups" 0 sh -c 'ulimit -t 20; exec "$@"' sh "$hlorun" check groups.hlo
for program in operands aliases slices sums; do
  expect_exit "many $program" 0 sh -c 'ulimit -t 20; exec "$@"' sh "$hlorun" --random-inputs --cache none -o many.npz "$program.hlo"
  expect_exit "many $program, as MLIR" 0 sh -c 'ulimit -t 20; exec "$@"' sh "$hlorun" convert --to mlir -o many.mlir "$program.hlo"
done

# And with the leaves of tuples inside each other, 2^18 of each parameter.
nested_tuples() { # LEVELS
  echo '!a0 = tensor<f32>'
  for i in $(seq "$1"); do echo "!a$i = tuple<!a$((i - 1)), !a$((i - 1))>"; done
}
{ nested_tuples 18 && echo 'func.func @main(%a: !a18, %b: !a18, %c: !a18) { return }'; } >leaves.mlir
{
  nested_tuples 17
  printf '%s\n' 'func.func @main(%a: !a17) -> !a17 {' '%b = stablehlo.optimization_barrier %a : !a17' 'return %b : !a17 }'
} >barrier.mlir
leaves() { expect_exit "$1" 0 sh -c 'ulimit -t 30; exec "$@"' sh "$hlorun" "${@:2}"; }
for program in leaves barrier; do
  for engine in compiled reference; do
    leaves "many $program, $engine" --engine $engine --random-inputs --cache none -o many.npz $program.mlir
  done
  leaves "many $program, check" check $program.mlir
  leaves "many $program, as HLO" convert --to hlo -o many.hlo $program.mlir
done

# And with products of products, and with manual computations one after the other.
{
  echo 'HloModule products ENTRY main { x_0 = f32[4,4] parameter(0)'
  lines 40000 '#' | awk '{ printf "x_%d = f32[4,4] dot(x_%d, x_%d), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
    NR, NR - 1, NR - 1 }'
  echo 'ROOT r = f32[4,4] copy(x_40000) }'
} >products.hlo
expect_exit "many products" 0 sh -c 'ulimit -t 15; exec "$@"' sh "$hlorun" --random-inputs --cache none -o many.npz \
  products.hlo
{
  printf '%s\n' 'sdy.mesh @mesh = <["x"=2]>' 'func.func @main(%x0: tensor<4xf32>) -> tensor<4xf32> {'
  lines 8000 '#' | awk '{
    printf "%%m%d = sdy.manual_computation(%%x%d) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] ", NR, NR - 1
    printf "manual_axes={} (%%a%d: tensor<4xf32>) {\n%%b%d = stablehlo.sine %%a%d : tensor<4xf32>\n", NR, NR, NR
    printf "sdy.return %%b%d : tensor<4xf32>\n} : (tensor<4xf32>) -> tensor<4xf32>\n", NR
    printf "%%x%d = stablehlo.cosine %%m%d : tensor<4xf32>\n", NR, NR }'
  printf '%s\n' 'return %x8000 : tensor<4xf32>' '}'
} >manual.mlir
expect_exit "many manual computations" 0 sh -c 'ulimit -t 15; exec "$@"' sh "$hlorun" -n 2 --random-inputs --cache none \
  -o many.npz manual.mlir

# Memory does not grow with the shardings over many devices.
{
  echo 'HloModule shardings, num_partitions=1048576 ENTRY main { x_0 = f32[1048576] parameter(0)'
  lines 200 '#' | awk '{ printf "x_%d = f32[1048576] sine(x_%d), sharding={devices=[1048576]<=[1048576]}\n", NR, NR - 1 }'
  echo 'ROOT r = f32[1048576] copy(x_200) }'
} >shardings.hlo
(
  if [ "$addresses_kb" != unlimited ]; then ulimit -v 1500000; fi
  exec timeout 60 "$hlorun" check shardings.hlo
) >out 2>&1 </dev/null && pass || fail "200 shardings over 1048576 devices" out

# And with groups of as many replicas.
{
  echo 'HloModule replicas, replica_count=1000000'
  echo 'add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) } ENTRY main { x_0 = f32[8] parameter(0)'
  lines 200 '#' | awk '{ printf "x_%d = f32[8] all-reduce(x_%d), replica_groups=[500000,2]<=[1000000], to_apply=add\n", NR, NR - 1 }'
  echo 'ROOT r = f32[8] negate(x_200) }'
} >replicas.hlo
expect_exit "200 sums over 1000000 replicas" 0 sh -c 'ulimit -t 15; exec "$@"' sh "$hlorun" check replicas.hlo

# And with functions that nothing calls.
{
  echo 'func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }'
  lines 20000 'func.func private @f#(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }'
} >uncalled.mlir
expect_exit "many functions that nothing calls" 0 sh -c 'ulimit -t 15; exec "$@"' sh "$hlorun" check uncalled.mlir
{
  cat uncalled.mlir
  echo 'func.func private @wrong(%x: tensor<f32>) -> tensor<f64> { return %x : tensor<f32> }'
} >wrong.mlir
expect_exit "one of many functions is wrong" 3 sh -c 'ulimit -t 15; exec "$@"' sh "$hlorun" check wrong.mlir
expect_text "one of many functions is wrong" "wrong.mlir:20002:"
# A few of many may break rules that StableHLO's verifier leaves open; many may not.
doubtful() {
  lines "$1" 'func.func private @d#(%a: tensor<2xi32>) -> tensor<2xi1> {
    %r = stablehlo.compare EQ, %a, %a, FLOAT : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    return %r : tensor<2xi1> }'
}
{ cat uncalled.mlir; doubtful 20; } >doubtful.mlir
expect_exit "20 of many functions are doubtful" 0 sh -c 'ulimit -t 15; exec "$@"' sh "$hlorun" check doubtful.mlir
expect_some "warnings of doubtful functions" 20 "$(grep -c 'which nothing calls, is not valid' "$work/out")"
{ cat uncalled.mlir; doubtful 100; } >doubtful.mlir
expect_exit "100 of many functions are doubtful" 3 sh -c 'ulimit -t 15; exec "$@"' sh "$hlorun" check doubtful.mlir

# Attributes of aliases of aliases: 41 lines would be one of 2^40 parts.
{
  echo '#a0 = [1, 2]'
  for i in $(seq 40); do echo "#a$i = [#a$((i - 1)), #a$((i - 1))]"; done
  echo 'func.func @main(%x: tensor<f32>) -> tensor<f32> {'
  printf '%s\n' '%y = stablehlo.sine %x {mhlo.x = #a40} : tensor<f32>' 'return %y : tensor<f32>' '}'
} >doubled.mlir
quickly "an attribute of 2^40 parts" 3 "$hlorun" convert --to mlir -o many.mlir doubled.mlir
expect_text "an attribute of 2^40 parts" "aliases of attributes that stand for fewer parts"

# Small kernels take little memory until their code is made.
{
  echo 'HloModule kernels less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }'
  echo 'ENTRY main { x = f32[4] parameter(0) r_0 = f32[4] copy(x)'
  lines 6000 '#' | awk '{
    printf "k_%d = f32[] constant(0.%d) b_%d = f32[4] broadcast(k_%d), dimensions={} ", NR, NR, NR, NR
    printf "a_%d = f32[4] add(r_%d, b_%d) m_%d = f32[4] sine(a_%d) ", NR, NR - 1, NR, NR, NR
    printf "r_%d = f32[4] sort(m_%d), dimensions={0}, to_apply=less\n", NR, NR }'
  echo 'ROOT r = f32[4] copy(r_6000) }'
} >kernels.hlo
expect_memory "memory of 6000 kernels" 0 210000 "$hlorun" --random-inputs --cache none -o many.npz kernels.hlo

# Calls that nest: as deep as the stack has room for, and no deeper; two at each level are 2^n in all.
nested() {
  echo 'HloModule nested c0 { p = f32[] parameter(0) ROOT r = f32[] negate(p) }'
  awk -v n="$1" 'BEGIN { for (i = 1; i < n; i++)
    printf "c%d { p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=c%d }\n", i, i - 1 }'
  echo "ENTRY main { p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=c$(($1 - 1)) }"
}
nested 2000 | sed 's/c64\>/c_64/g; s/c128\>/c_128/g' >nested.hlo
nested 20000 | sed 's/c64\>/c_64/g; s/c128\>/c_128/g' >deep.hlo
{
  echo 'HloModule twice b0 { p = f32[] parameter(0) ROOT r = f32[] negate(p) }'
  awk 'BEGIN { for (i = 1; i < 100; i++) {
    printf "b%d { p = f32[] parameter(0) k = f32[] constant(%d) q = pred[] compare(p, k), direction=LT ", i, i
    printf "ROOT r = f32[] conditional(q, p, p), true_computation=b%d, false_computation=b%d }\n", i - 1, i - 1 } }'
  echo 'ENTRY main { p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=b99 }'
} >branching.hlo
for engine in compiled reference; do
  run=(sh -c 'ulimit -S -s 8192; exec timeout -k 5 60 "$@"' sh "$hlorun" --engine $engine --input 0=2)
  expect_exit "2000 calls inside each other, $engine" 0 "${run[@]}" nested.hlo
  expect_text "2000 calls inside each other, $engine" 'out0 = f32[] -2'
  expect_exit "20000 calls inside each other, $engine" 3 "${run[@]}" deep.hlo
  expect_text "20000 calls inside each other, $engine" \
    'deep.hlo:2002:37: error: call of %r: computations call each other more than 2000 deep'
  expect_exit "two calls at each of 100 levels, $engine" 0 "${run[@]}" branching.hlo
  expect_text "two calls at each of 100 levels, $engine" 'out0 = f32[] -2'
done
expect_exit "two calls at each of 100 levels, as MLIR" 3 "$hlorun" convert --to mlir -o many.mlir branching.hlo
expect_text "two calls at each of 100 levels, as MLIR" 'the program is too large with what it calls written out'

# Names of files are no commands for a terminal.
strange=$(printf 'a\033[31m\302\2331m\177')
expect_exit "a name with escapes" 5 "$hlorun" "$strange.hlo"
expect_text "a name with escapes" 'cannot open a?[31m??1m?.hlo'
mkdir strange && cp one.hlo "strange/$strange.hlo" && cp whole.npz "strange/$strange.npz"
expect_exit "a case with escapes" 1 "$hlorun" test strange
expect_text "a case with escapes" 'FAIL strange/a?[31m??1m?.hlo'

# Cases whose directives ask for the impossible fail with a reason, in no time.
expect_exit "a result" 0 "$hlorun" -o one.npz one.hlo
for directive in "RANKS: 2000000000" "RANKS: -3" "GRID: 65536x65536" "RTOL: nan" "ATOL: inf" "RTOL: -1"; do
  rm -rf cases && mkdir cases
  { echo "// $directive" && cat one.hlo; } >cases/one.hlo
  cp one.npz cases
  quickly "$directive" 1 "$hlorun" test cases
  expect_text "$directive" "FAIL cases/one.hlo: "
  expect_text "$directive" "0 passed, 1 failed"
done
finish
