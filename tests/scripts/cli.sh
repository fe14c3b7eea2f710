#!/usr/bin/env bash
# The command's contract with scripts: exit codes, what is printed where, files that it writes.
set -u
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work" || exit 99
examples=$source_dir/examples

. "$here/cli_programs.sh"

# --- help and lists ---
expect_exit "--version" 0 "$hlorun" --version && expect_text "--version" "hlorun "
expect_exit "--help" 0 "$hlorun" --help && expect_text "--help" "--input"
expect_exit "test --help" 0 "$hlorun" test --help
expect_exit "--list-ops" 0 "$hlorun" --list-ops && expect_text "--list-ops" "all-reduce"
expect_exit "--list-options" 0 "$hlorun" --list-options && expect_text "--list-options" "--carry"
expect_exit "--print-topology" 0 "$hlorun" --print-topology

expect_exit "help" 0 "$hlorun" help && expect_text "help" "hlorun check"
expect_exit "help test" 0 "$hlorun" help test && expect_text "help test" "--filter"
expect_exit "--help test" 0 "$hlorun" --help test && expect_text "--help test" "--filter"
expect_exit "a command after options" 0 "$hlorun" --quiet test "$source_dir/examples/hello.hlo" \
  && expect_text "a command after options" "1 passed"
expect_exit "run after options" 0 "$hlorun" -n 2 run --random-inputs --num-replicas 2 "$source_dir/examples/hello.hlo"
expect_exit "help of nothing" 2 "$hlorun" help tset && expect_text "help of nothing" "nearest: test"
expect_exit "--version of libraries" 0 "$hlorun" --version && expect_text "--version of libraries" "libuv 1."
expect_exit "--check-build" 0 "$hlorun" --check-build && expect_text "--check-build" "[x] hwloc"

# --- wrong usage: 2 ---
expect_exit "no program" 2 "$hlorun"
expect_exit "unknown option" 2 "$hlorun" --outptu x.npz twice.hlo && expect_text "unknown option" "--output"
expect_exit "missing input" 2 "$hlorun" twice.hlo
expect_exit "option of another command" 2 "$hlorun" check --steps 3 twice.hlo
expect_exit "grid that does not fit" 2 "$hlorun" --num-replicas 4 --random-inputs twice.hlo

# --- results ---
expect_exit "run" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --output out.npz twice.hlo
[ -s out.npz ] && pass || fail "--output wrote no file"
expect_exit "--expect, equal" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --expect out.npz twice.hlo
expect_exit "--expect, different" 1 "$hlorun" --input '0=f32[3]{1,2,4}' --expect out.npz twice.hlo
expect_text "--expect, different" "[2]"
expect_exit "steps" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --steps 4 --carry 0:0 --output steps.npz twice.hlo
expect_exit "steps, result" 0 "$hlorun" --input '0=f32[3]{8,16,24}' --expect steps.npz twice.hlo
expect_exit "random inputs" 0 "$hlorun" --random-inputs=7 --output random.npz twice.hlo
expect_exit "random inputs, again" 0 "$hlorun" --random-inputs=7 --expect random.npz twice.hlo
expect_exit "random inputs, another seed" 1 "$hlorun" --random-inputs=8 --expect random.npz twice.hlo
expect_exit "stats" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --repeat 3 --stats stats.json twice.hlo
for key in compile_s best_s median_s first_s peak_rss_bytes steps_per_s native_steps arena_bytes code_bytes per_rank; do
  grep -q "\"$key\"" stats.json && pass || fail "--stats has no $key" stats.json
done
# The process that starts it is larger than 200 MB: that is not memory of the command's.
(
  large=$(head -c 200000000 /dev/zero | tr '\0' x)
  "$hlorun" -v --input '0=f32[3]{1,2,3}' --stats large.json twice.hlo >large.out 2>&1
  [ ${#large} -eq 200000000 ]
) && pass || fail "a large parent" large.out
bytes=$(grep -m 1 -o '"peak_rss_bytes": [0-9]*' large.json | grep -o '[0-9]*$')
[ "${bytes:-999999999}" -lt 190000000 ] && pass || fail "peak memory is the parent's" large.json
mebibytes=$(grep -o '[0-9]*\.[0-9]* MiB at most' large.out)
[ "$(printf '%.0f' "${mebibytes%% *}")" -lt 180 ] && pass || fail "-v: peak memory is the parent's" large.out
cat >sized.mlir <<'END'
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
END
expect_exit "stats of a copy" 0 "$hlorun" --engine compiled --input '0=f32[3]{1,2,3}' --repeat 3 --stats stats.json \
  sized.mlir
grep -q '"copies": 1,' stats.json && pass || fail "--stats does not count copies for sizes" stats.json
grep -q '"generated_steps": 1,' stats.json && pass || fail "--stats does not count the steps of the copy" stats.json

# --- options without an effect: refused, or a warning ---
while read -r code arguments; do
  expect_exit "$arguments" "$code" "$hlorun" $arguments
  expect_text "$arguments" "$(case $code in 0) echo "has no effect:" ;; *) echo "error: " ;; esac)"
done <<'END'
2 --rtol 1 -i 0=1 twice.hlo
2 --atol 1 -i 0=1 twice.hlo
2 --ulp 1 -i 0=1 twice.hlo
2 --batch-dim 1 -i 0=1 twice.hlo
2 --global-batch 1 -i 0=1 twice.hlo
2 --no-shuffle -i 0=1 twice.hlo
2 --random-inputs --wild-inputs twice.hlo
2 -q -v -i 0=1 twice.hlo
2 --fetch y -i 0=1 twice.hlo
2 --feed x:0 -i 0=1 twice.hlo
2 --sharding nonsense -i 0=1 twice.hlo
2 --stop-after read -o x.npz twice.hlo
2 check --fetch y twice.hlo
2 check --feed x:0=f32[2] twice.hlo
2 check --sharding nonsense twice.hlo
2 convert --fetch y twice.hlo
2 convert --feed x:0 --to mlir twice.hlo
2 convert --style long --to dot twice.hlo
2 schedule gen gpipe --iterations 3
2 schedule gen halo --chunks 3
2 schedule gen gpipe --ranks 3 --stages 4
2 schedule to-hlo --stages 3 x
2 test --rtol 1 --ulp 2 .
0 --verify-comm -i 0=1 twice.hlo
0 --no-proof -i 0=1 twice.hlo
0 --combine 8 -i 0=1 twice.hlo
0 --mesh x=2 -i 0=1 twice.hlo
0 --mesh x=2 --sharding in0=- -i 0=1 twice.hlo
0 --sharding in0=- -i 0=1 twice.hlo
0 --output-shards -i 0=1 twice.hlo
0 --outfeed file:fed -i 0=1 twice.hlo
0 --seed 4 -i 0=1 twice.hlo
0 --random-inputs -i 0=1 twice.hlo
0 --wild-inputs=3 -i 0=1 twice.hlo
0 --carry 0:0 -i 0=1 twice.hlo
0 --engine reference --threads 2 -i 0=1 twice.hlo
0 --engine reference --cache none -i 0=1 twice.hlo
0 --stop-after read --steps 3 twice.hlo
0 --explain-sharding --trace t.json twice.hlo
END
expect_exit "a warning and --quiet" 0 "$hlorun" --quiet --carry 0:0 -i 0=1 twice.hlo
if [ -s "$work/out" ]; then fail "--quiet warns" "$work/out"; else pass; fi
HLORUN_LOG=info expect_exit "more threads than cores" 0 "$hlorun" --threads 9999 -i 0=1 twice.hlo
expect_text "more threads than cores" "--threads 9999: more than processors ("

# --- a signal under a foreign launcher, which sees exit codes ---
cat >endless.hlo <<'END'
HloModule endless
c { s = s32[] parameter(0) z = s32[] constant(-1) ROOT r = pred[] compare(s, z), direction=NE }
b { s = s32[] parameter(0) o = s32[] constant(1) t = s32[] constant(1000000) n = s32[] add(s, o) ROOT r = s32[] remainder(n, t) }
ENTRY e { z = s32[] constant(0) ROOT w = s32[] while(z), condition=c, body=b }
END
OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 HLORUN_LOG=info "$hlorun" -n 1 endless.hlo >endless.out 2>&1 </dev/null &
interrupted=$!
eventually grep -q "info: loaded" endless.out
kill -TERM $interrupted
wait $interrupted
got=$?
[ $got -eq 143 ] && pass || fail "SIGTERM under a launcher: exit code $got, want 143" endless.out

# --- what people read ---
# has_not NAME TEXT: the last command's output must not hold this text.
has_not() {
  if grep -qF -e "$2" "$work/out"; then fail "$1: found $2" "$work/out"; else pass; fi
}
expect_exit "figures" 0 "$hlorun" -v --input '0=f32[3]{1,2,3}' --repeat 2000 twice.hlo
grep -qE '  [0-9,]+,[0-9]{3} steps/s' "$work/out" && pass || fail "no thousands in the rate" "$work/out"
grep -qE 'best [0-9.]+ (ns|us|ms)' "$work/out" && pass || fail "no unit in a time" "$work/out"
expect_exit "--quiet" 0 "$hlorun" --quiet --input '0=f32[3]{1,2,3}' --steps 3 --carry 0:0 twice.hlo
has_not "--quiet" "out0"
sed 's/add(x, x)/subtract(x, x)/' twice.hlo >zero.hlo
expect_exit "nan" 0 "$hlorun" --input '0=f32[3]{inf,-inf,1}' zero.hlo && expect_text "nan" "{nan, nan, 0}"
expect_exit "a quoted shape" 2 "$hlorun" --input '0=f32[3]1' '0=f32[3]2' '0=f32[3]3' twice.hlo
expect_text "a quoted shape" "quote the value"
expect_exit "--explain=json" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --explain=json twice.hlo
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["executions"] == 1' "$work/out" 2>/dev/null && pass ||
  fail "--explain=json: standard output is no JSON" "$work/out"
# Memory traffic of an update: of what is updated and, where the array is still wanted as it was, of its copy. Of an
# array that is sliced, what is read.
traffic() {
  write_program traffic "  x = f32[1000000] parameter(0)
  at = s32[] parameter(1)
  small = f32[2] parameter(2)
  $2"
  expect_exit "traffic of $1" 0 "$hlorun" --random-inputs --explain=json traffic.hlo
  python3 -c 'import json, sys
kernels = json.load(open(sys.argv[1]))["kernels"]
bytes = sum(kernel["bytes"] for kernel in kernels)
assert float(sys.argv[2]) <= bytes < 100 + float(sys.argv[2]), bytes' "$work/out" "$3" 2>"$work/err" && pass ||
    fail "traffic of $1" "$work/err"
}
traffic "an update of a copy" 'ROOT y = f32[1000000] dynamic-update-slice(x, small, at)' 8000016
traffic "a computed update of a copy" 's = f32[2] add(small, small)
  ROOT y = f32[1000000] dynamic-update-slice(x, s, at)' 8000016
traffic "an update in place" 'z = f32[1000000] negate(x)
  ROOT y = f32[1000000] dynamic-update-slice(z, small, at)' 8000016
traffic "a slice" 's = f32[2] dynamic-slice(x, at), dynamic_slice_sizes={2}
  ROOT y = f32[2] add(s, small)' 24
expect_exit "--explain --limit" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --explain --limit twice.hlo
expect_text "--explain --limit" "of what bandwidth and arithmetic allow"
expect_exit "--limit alone" 2 "$hlorun" --input '0=f32[3]{1,2,3}' --limit twice.hlo
# An argument and a result of 4 MB each are touched once.
write_program million '  x = f32[1048576] parameter(0)
  ROOT y = f32[1048576] add(x, x)'
export HWLOC_SYNTHETIC='pack:2 numa:1 core:2 pu:1'
# Peaks are measured by as many workers as there are processors, however many there are.
expect_exit "--explain of 100000 workers" 0 "$hlorun" --quiet --max-time 100 --input '0=f32[3]{1,2,3}' --threads 100000 \
  --explain twice.hlo
expect_exit "--explain --numa" 0 "$hlorun" --quiet --random-inputs --threads 4 --explain --numa million.hlo
expect_text "--explain --numa" "NUMA: workers on 2 nodes touched 8."
expect_exit "--explain=json --numa" 0 "$hlorun" --random-inputs --threads 4 --explain=json --numa million.hlo
expect_text "--explain=json --numa" '"numa_nodes": 2'
unset HWLOC_SYNTHETIC
expect_exit "--numa alone" 2 "$hlorun" --random-inputs --numa twice.hlo
expect_exit "--explain of another form" 2 "$hlorun" --random-inputs --explain=yaml twice.hlo
expect_exit "--trace, compressed" 0 "$hlorun" --random-inputs --trace t.json.gz twice.hlo
gzip -dc t.json.gz | grep -q traceEvents && pass || fail "--trace t.json.gz is no gzip file of JSON"
expect_exit "--trace, unknown ending" 2 "$hlorun" --random-inputs --trace t.html twice.hlo
expect_text "--trace, unknown ending" ".json, .json.gz or .svg"
# Sizes are compared with this machine's memory by what runs.
write_program wide '  x = f32[70368744177664] parameter(0)
  ROOT y = f32[70368744177664] negate(x)'
expect_exit "check of a large program" 0 "$hlorun" check wide.hlo
expect_exit "convert of a large program" 0 "$hlorun" convert --to mlir wide.hlo
expect_exit "run of a large program" 3 "$hlorun" --random-inputs wide.hlo

expect_exit "dump" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --dump dumped twice.hlo
for file in 00_read.hlo plan.txt flat.txt; do
  [ -s "dumped/$file" ] && pass || fail "--dump wrote no $file"
done
grep -q "arena of" dumped/flat.txt && pass || fail "--dump: no arena in flat.txt" dumped/flat.txt
# The code is written whether or not it is in the cache already; rows too many for caches are asked for ahead.
cat >rows.hlo <<'END'
HloModule rows
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[4096,1024] parameter(0)
  zero = f32[] constant(0)
  sum = f32[4096] reduce(x, zero), dimensions={1}, to_apply=add
  sums = f32[4096,1024] broadcast(sum), dimensions={0}
  ROOT share = f32[4096,1024] divide(x, sums)
}
END
for time in first second; do
  rm -rf dumped
  expect_exit "--dump, the $time time" 0 "$hlorun" --random-inputs --dump dumped rows.hlo
  grep -q " prefetch " dumped/code_*.kir && pass || fail "--dump, the $time time: no kernel IR that fetches ahead"
  if ! grep -q '^HR_LLVM_VERSION = missing' "$build_dir/Makefile"; then
    grep -q "llvm.prefetch" dumped/code_*.ll && pass || fail "--dump, the $time time: no code that fetches ahead"
  else
    skip "--dump, the $time time: built without LLVM"
  fi
done
# Results of a program are stored past the caches if it is larger than these.
for count in 1048576 4194304; do
  rm -rf dumped
  cat >results.hlo <<END
HloModule results
ENTRY main {
  x = f32[$count] parameter(0)
  y = f32[1048576] parameter(1)
  less = f32[$count] negate(x)
  more = f32[1048576] negate(y)
  ROOT results = (f32[$count], f32[1048576]) tuple(less, more)
}
END
  expect_exit "results of $count elements" 0 "$hlorun" --random-inputs --dump dumped results.hlo
  stores=$(cat dumped/code_*.kir | grep -c nontemporal)
  [ "$stores" -gt 0 ] && past=yes || past=no
  [ "$past" = "$([ "$count" -gt 1048576 ] && echo yes || echo no)" ] && pass ||
    fail "results of $count elements: $stores stores past the caches"
done
expect_exit "dump of a plan" 0 "$hlorun" --stop-after flat --dump planned twice.hlo
[ -s planned/flat.txt ] && pass || fail "--stop-after flat --dump wrote nothing"

# --- arrays: by name, by position, alone, as text; other forms ---
python3 - <<'END'
import json, struct, zipfile
def npy(descr, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
def npz(path, **arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", array)
def tensors(path, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
three = struct.pack("<3f", 1, 2, 3)
one = npy("<f4", (3,), three)
npz("named.npz", x=one)
npz("placed.npz", arr_0=one)
npz("others.npz", weights=one, bias=one)
npz("wide.npz", in0=npy("<f8", (3,), struct.pack("<3d", 1, 2, 3)))
open("one.npy", "wb").write(one)
entry = {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}
tensors("named.safetensors", {"__metadata__": {"format": "np"}, "x": entry}, three)
tensors("short.safetensors", {"x": entry}, three[:8])
tensors("wrong.safetensors", {"x": dict(entry, dtype="F7")}, three)
tensors("text.safetensors", b'{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,12', three)
tensors("minus.safetensors", {"x": dict(entry, shape=[-3])}, three)
tensors("large.safetensors", {"x": dict(entry, shape=[2 ** 62, 8])}, three)
END
for file in named.npz placed.npz one.npy named.safetensors x=one.npy x=named.npz:x 0=named.safetensors:x \
  '0=3xf32=1 2 3' 'x=3xf32=[1,2,3]' '%x=f32[3]{1,2,3}' 0=@one.npy; do
  expect_exit "--input $file" 0 "$hlorun" --input "$file" twice.hlo && expect_text "--input $file" "{2, 4, 6}"
done
expect_exit "--input 0=5" 0 "$hlorun" --input 0=5 twice.hlo && expect_text "--input 0=5" "{10, 10, 10}"
cat >named.mlir <<'EOF'
module {
  func.func @main(%a: tensor<2xf32> loc("x['a=b']"), %b: tensor<2xf32> loc("y")) -> tensor<2xf32> {
    %0 = stablehlo.add %a, %b : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
EOF
expect_exit "a name with =" 0 "$hlorun" --input "x['a=b']=5" --input y=1 named.mlir && expect_text "a name with =" "{6, 6}"
expect_exit "--input, one for all" 0 "$hlorun" --input 0=3xf32=5 twice.hlo && expect_text "--input, one for all" "{10, 10, 10}"
refused() { # INPUT TEXT
  expect_exit "--input $1" 2 "$hlorun" --input "$1" twice.hlo && expect_text "--input $1" "$2"
}
refused others.npz "it has weights, bias"
refused wide.npz "save it with .astype(np.float32)"
refused x=named.npz:y "has no array y; it has x"
refused x=named.npz "named.npz is an archive, want one array, as named.npz:NAME; it has x"
refused '0=f32[4]{1,2,3,4}' "found a literal of f32[4], want f32[3]"
refused '0=q32[3]{1,2,3}' "found 'q32', want a type such as f32"
refused y=one.npy "the program has 0 (x: f32[3])"
refused '0=2xf32=1 2' "sizes or the type"
refused '0=3xf32=1 2' "found 2 elements, want 3"
refused '0=3xf32=1 2 3 4' "too many elements"
refused '0=3xf32=1 2 z' "'z' is no element of f32"
expect_exit "one array for two" 2 "$hlorun" --input one.npy "$examples/hello.hlo"
expect_text "one array for two" "say of which parameter"
for file in short wrong text minus large; do
  expect_exit "$file.safetensors" 3 "$hlorun" --input $file.safetensors twice.hlo
done
header='{"out00":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}'
{ printf "\\x$(printf %02x ${#header})"'\0\0\0\0\0\0\0%s' "$header" && head -c 12 /dev/zero; } >zeros.safetensors
expect_exit "--expect with another name" 2 "$hlorun" --input named.npz --expect zeros.safetensors twice.hlo
expect_text "--expect with another name" "has out00, want out0"
for form in npz safetensors; do
  expect_exit "--output .$form" 0 "$hlorun" --input named.npz --output form.$form twice.hlo
  expect_exit "--expect .$form" 0 "$hlorun" --input named.npz --expect form.$form twice.hlo
  expect_exit "--expect .$form, other values" 1 "$hlorun" --input 0=7 --expect form.$form twice.hlo
  expect_exit "results of .$form" 0 "$hlorun" --input 0=form.$form:out0 twice.hlo && expect_text "results of .$form" "{4, 8, 12}"
done
expect_exit "--output .npy" 0 "$hlorun" --input named.npz --output form.npy twice.hlo
expect_exit "results of .npy" 0 "$hlorun" --input form.npy twice.hlo && expect_text "results of .npy" "{4, 8, 12}"
expect_exit "--output .txt" 0 "$hlorun" --input named.npz --output form.txt twice.hlo
[ "$(cat form.txt)" = "out0 = f32[3] {2, 4, 6}" ] && pass || fail "--output .txt" form.txt
expect_exit "--output .npy of two" 2 "$hlorun" --input 0=2 --output two.npy "$examples/newton.hlo"
expect_exit "--output %k.npy" 0 "$hlorun" --input 0=2 --output 'n%k.npy' "$examples/newton.hlo"
[ -s n0.npy ] && [ -s n1.npy ] && pass || fail "--output %k.npy: not a file for each"
expect_exit "--output, unknown ending" 2 "$hlorun" --random-inputs --output x.csv twice.hlo
expect_text "--output, unknown ending" ".npz, .safetensors, .npy or .txt"
expect_exit "convert, unknown ending" 2 "$hlorun" convert -o x.svg twice.hlo
expect_text "convert, unknown ending" ".mlirbc"
expect_exit "--curve .csv" 0 "$hlorun" --random-inputs --steps 5 --carry 0:0 --metric 0=sum --curve c.csv twice.hlo
[ "$(head -n 1 c.csv) $(wc -l <c.csv)" = 'step,"sum" 6' ] && pass || fail "--curve .csv" c.csv
expect_exit "--curve .png" 0 "$hlorun" --random-inputs --steps 200 --carry 0:0 --metric 0=sum --curve c.png twice.hlo
python3 - c.png <<'END' && pass || fail "--curve .png: no picture of lines"
import struct, sys, zlib
data, at, packed = open(sys.argv[1], "rb").read(), 8, b""
assert data[:8] == b"\x89PNG\r\n\x1a\n"
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
    if kind == b"IHDR":
        width, height = struct.unpack(">II", body[:8])
    packed += body if kind == b"IDAT" else b""
    at += 12 + size
rows = zlib.decompress(packed)
assert kind == b"IEND" and (width, height) == (1440, 800) and len(rows) == height * (3 * width + 1)
pixels = {rows[y * (3 * width + 1) + 1 + 3 * x:][:3] for y in range(height) for x in range(0, width, 3)}
assert b"\x1f\x5f\xa8" in pixels and b"\x44\x44\x44" in pixels and b"\xff\xff\xff" in pixels
END
expect_exit "--curve, unknown ending" 2 "$hlorun" --random-inputs --steps 5 --carry 0:0 --curve c.jpg twice.hlo

# --- invalid programs: 3, with the place ---
expect_exit "shape does not fit" 3 "$hlorun" --random-inputs wrong.hlo
expect_text "shape does not fit" "wrong.hlo:5:"
expect_exit "check, valid" 0 "$hlorun" check twice.hlo
expect_exit "check, invalid" 3 "$hlorun" check wrong.hlo
expect_exit "elided constant" 3 "$hlorun" elided.hlo
expect_text "elided constant" "print_large_constants"
printf 'not a program' >garbage.hlo
expect_exit "garbage" 3 "$hlorun" garbage.hlo
expect_exit "too big" 3 "$hlorun" big.hlo && expect_text "too big" "8000000000000000000 bytes"
# Larger than this machine's memory: refused before it runs; valid for check, which knows no machine.
cat >large.hlo <<'HLO'
HloModule m
ENTRY main {
  p0 = f32[] parameter(0)
  ROOT r = f32[1099511627776] broadcast(p0), dimensions={}
}
HLO
expect_exit "larger than memory" 3 "$hlorun" large.hlo --input 0=1 &&
  expect_text "larger than memory" "4:8: error: broadcast of %r: f32[1099511627776] is too big"
expect_exit "larger than memory, checked" 0 "$hlorun" check large.hlo

# --- files: 5 ---
# Programs that come through pipes, which can be read but once, and as editors of other systems write them.
expect_exit "standard input" 0 bash -c '"$0" --random-inputs=7 --expect random.npz - <twice.hlo' "$hlorun"
expect_exit "a pipe" 0 bash -c 'cat twice.hlo | "$0" --random-inputs=7 --expect random.npz /dev/stdin' "$hlorun"
expect_exit "a pipe that is checked" 0 bash -c 'cat twice.hlo | "$0" check -' "$hlorun"
expect_exit "standard input of two" 2 "$hlorun" -n 2 --random-inputs -
expect_text "standard input of two" "only one process has a standard input"
printf '\xef\xbb\xbf' | cat - twice.hlo >marked.hlo
sed 's/$/\r/' twice.hlo >returns.hlo
"$hlorun" convert --to mlir -o plain.mlir twice.hlo
printf '\xef\xbb\xbf' | cat - plain.mlir >marked.mlir
cp twice.hlo 'zwei mal ü.hlo'
for file in marked.hlo returns.hlo marked.mlir 'zwei mal ü.hlo'; do
  expect_exit "$file" 0 "$hlorun" --random-inputs=7 --expect random.npz "$file"
done

# Wrong words.
expect_exit "no such command" 2 "$hlorun" simulate twice.hlo && expect_text "no such command" \
  "no command or file 'simulate'"
expect_exit "schedule of nothing" 2 "$hlorun" schedule && expect_text "schedule of nothing" "gen, to-hlo or from-hlo"
expect_exit "--every alone" 2 "$hlorun" --every 3 twice.hlo && expect_text "--every alone" "--checkpoint"
expect_exit "no such algorithm" 2 env HLORUN_ALLTOALL=magic "$hlorun" -n 4 --random-inputs twice.hlo
[ "$(grep -c "no algorithm \"magic\" for this all-to-all (HLORUN_ALLTOALL), want one of: shm" "$work/out")" = 1 ] &&
  pass || fail "no such algorithm: not told once" "$work/out"
for value in HLORUN_WATCHDOG=abc HLORUN_WATCHDOG=-1 HLORUN_COMBINE=abc HLORUN_VECTOR=13; do
  expect_exit "$value" 0 env "$value" "$hlorun" -n 4 --random-inputs twice.hlo
  [ "$(grep -c "warning: $value: want " "$work/out")" = 1 ] && pass || fail "$value: not warned of once" "$work/out"
done
expect_exit "too many processes" 2 "$hlorun" -n 100000 twice.hlo && expect_text "too many processes" "4096"
expect_exit "--probe of nothing" 0 "$hlorun" --random-inputs --probe zzz twice.hlo
expect_text "--probe of nothing" "no instruction that ran"

# Places for compiled code that are none: the run goes on without, and makes no home.
expect_exit "--cache, a file" 0 "$hlorun" --random-inputs --cache twice.hlo twice.hlo
expect_text "--cache, a file" "compiled code is not kept"
expect_exit "no home" 0 env -u XDG_CACHE_HOME -u HLORUN_CACHE HOME="$work/away" "$hlorun" --random-inputs twice.hlo
[ ! -e "$work/away" ] && pass || fail "no home: it was made"

expect_exit "no such program" 5 "$hlorun" nothing.hlo && expect_text "no such program" "nothing.hlo"
expect_exit "no such input" 5 "$hlorun" --input nothing.npz twice.hlo
expect_exit "output cannot be written" 5 "$hlorun" --input '0=f32[3]{1,2,3}' --output /nonexistent/x.npz twice.hlo

# --- without LLVM the reference kernels do the work ---
expect_exit "without LLVM" 0 env HLORUN_X64=0 HLORUN_LLVM=/nonexistent "$hlorun" --cache none --input '0=f32[3]{1,2,3}' twice.hlo
expect_text "without LLVM" "out0 = f32[3] {2, 4, 6}"
expect_text "without LLVM, a warning" "no code can be generated"
[ "$(grep -c "no code can be generated" "$work/out")" = 1 ] && pass \
  || fail "more than one warning without LLVM" "$work/out"

# --- processes ---
leak_check_off
expect_exit "two processes" 0 "$hlorun" -n 2 --input '0=f32[3]{1,2,3}' --output two.npz sum_all.hlo
expect_exit "their sum" 0 "$hlorun" -n 2 --input '0=f32[3]{1,2,3}' --expect two.npz sum_all.hlo
expect_exit "under mpirun" 0 "$mpirun" -n 2 "$hlorun" --input '0=f32[3]{1,2,3}' --expect two.npz sum_all.hlo
expect_exit "invalid on two" 3 "$hlorun" -n 2 --random-inputs wrong.hlo
expect_exit "-n against mpirun" 2 "$mpirun" -n 2 "$hlorun" -n 3 --random-inputs sum_all.hlo
expect_exit "grid against mpirun" 2 "$mpirun" -n 2 "$hlorun" --num-replicas 3 --random-inputs sum_all.hlo
expect_exit "steps that differ" 2 "$mpirun" -n 1 "$hlorun" --steps 3 --random-inputs twice.hlo : \
  -n 1 "$hlorun" --steps 2 --random-inputs twice.hlo
expect_text "steps that differ" "rank 1 was started with --steps 2, rank 0 with --steps 3"
for option in --repeat=2 --every=5 --verify-comm --explain --stats="$work/s.json" --trace="$work/t.json"; do
  name=${option%%=*}
  expect_exit "$name on one rank" 2 "$mpirun" -n 1 "$hlorun" "$option" --random-inputs twice.hlo : \
    -n 1 "$hlorun" --random-inputs twice.hlo
  expect_text "$name on one rank" "rank 1 was started without $name, rank 0 with it"
done
expect_exit "different programs" 4 "$mpirun" -n 1 "$hlorun" --random-inputs twice.hlo : \
  -n 1 "$hlorun" --random-inputs sum_all.hlo
expect_exit "a process alone starts no MPI" 0 env HLORUN_MODULE_DIR=/nonexistent "$hlorun" --random-inputs twice.hlo

# As many as the program names, each with its lines marked.
sed 's/^HloModule sum_all/&, replica_count=3/' sum_all.hlo >three.hlo
expect_exit "as many as the program names" 0 "$hlorun" --input '0=f32[3]{1,2,3}' three.hlo
expect_text "as many as the program names" "out0 = f32[3] {3, 6, 9}"
expect_exit "-np" 0 "$hlorun" -np 3 --input '0=f32[3]{1,2,3}' three.hlo && expect_text "-np" "{3, 6, 9}"
expect_exit "-n 1 of three" 2 "$hlorun" -n 1 --random-inputs three.hlo
expect_exit "ranks of --program" 0 "$hlorun" --program 0-2=three.hlo --input '0=f32[3]{1,2,3}'
expect_exit "--log-dir" 0 env HLORUN_LOG=cli:info "$hlorun" --log-dir logs --random-inputs three.hlo
[ "$(cat logs/rank?.log | grep -c 'loaded three.hlo')" = 3 ] && pass || fail "--log-dir: no file for each rank"
expect_exit "--log-dir, an error" 3 "$hlorun" -n 2 --log-dir logs --random-inputs wrong.hlo
expect_text "--log-dir, an error" "wrong.hlo:5:"
# What ranks other than the first say alike is shown once, with their numbers.
expect_exit "equal lines" 0 env HLORUN_X64=0 HLORUN_LLVM=/nonexistent "$hlorun" -n 4 --cache none --random-inputs sum_all.hlo
[ "$(grep -c '^\[rank' "$work/out")" -le 1 ] && pass || fail "equal lines are shown more than once" "$work/out"
expect_exit "--hosts, a bad list" 2 "$hlorun" --hosts a:x sum_all.hlo && expect_text "--hosts, a bad list" "HOST:N"
if "$mpirun" --version >/dev/null 2>&1; then
  expect_exit "--hosts" 0 "$hlorun" --hosts localhost:3 --input '0=f32[3]{1,2,3}' three.hlo
  expect_text "--hosts" "{3, 6, 9}"
  expect_exit "topology under mpirun" 0 "$mpirun" -n 3 "$hlorun" --print-topology
  [ "$(grep -c '^machine' "$work/out")" = 1 ] && pass || fail "topology under mpirun: not printed once" "$work/out"
else
  skip "--hosts: there is no mpirun"
fi

expect_exit "two processes, .safetensors" 0 "$hlorun" -n 2 --input '0=f32[3]{1,2,3}' --output two.safetensors sum_all.hlo
expect_exit "two processes, .safetensors again" 0 "$hlorun" -n 2 --input '0=f32[3]{1,2,3}' --expect two.safetensors sum_all.hlo
expect_exit "two processes, .npy" 2 "$hlorun" -n 2 --input '0=f32[3]{1,2,3}' --output two.npy sum_all.hlo

leak_check_on

# --- convert: what is printed reads back the same ---
for program in "$examples"/*.hlo "$examples"/digits/*.hlo; do
  name="round trip of $(basename "$program")"
  expect_exit "$name" 0 "$hlorun" convert --to hlo -o once.hlo "$program"
  expect_exit "$name" 0 "$hlorun" convert --to hlo -o again.hlo once.hlo
  cmp -s once.hlo again.hlo && pass || fail "$name: the second print differs"
done
expect_exit "convert to dot" 0 "$hlorun" convert --to dot "$examples/heat.hlo" && expect_text "convert to dot" "digraph"
finish
