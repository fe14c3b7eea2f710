#!/usr/bin/env bash
# Global programs: the corpus on fewer processes than its meshes have, whole results in files, meshes and shardings of the
# command line, reports, and what is refused. run_corpora.sh runs the corpus on its own number of processes.
set -u
. "$(dirname "$0")/common.sh"

corpus=$source_dir/tests/corpora/auto_spmd

# On one process annotations are ignored; on two and four a part of the mesh is used. Manual computations fix the number.
for folder in "$corpus"/*/; do
  name=$(basename "$folder")
  for processes in 1 2 4; do
    want=0
    ! grep -qE 'sdy.manual_computation|SPMDFullToShardShape' "$folder/prog.mlir" || want=2
    [ "$processes" -eq 1 ] || ! grep -q '"d"=[35]' "$folder/prog.mlir" || want=2
    expect_exit "$name on $processes" "$want" "$hlorun" -n "$processes" --quiet --input "$folder/io.npz" \
      --expect "$folder/io.npz" "$folder/prog.mlir"
  done
done

# Whole results, which one process reads back as what it expects; and parts.
folder=$corpus/matmul_blocks
expect_exit "whole results" 0 "$hlorun" -n 8 --input "$folder/io.npz" --output "$work/whole.npz" "$folder/prog.mlir"
expect_exit "whole results are those of one process" 0 "$hlorun" -n 1 --input "$folder/io.npz" \
  --expect "$work/whole.npz" "$folder/prog.mlir"
expect_exit "parts of results" 0 "$hlorun" -n 8 --input "$folder/io.npz" --output "$work/parts.txt" --output-shards \
  "$folder/prog.mlir"
grep -q '^out0@7 = f32\[4,4\]' "$work/parts.txt" && pass || fail "out0@7 is a part" "$work/parts.txt"
"$hlorun" -n 8 --input "$folder/io.npz" "$folder/prog.mlir" >"$work/out" 2>&1
expect_text "whole results are printed" "out0 = f32[16,8]"

# Parts of one mesh are what any other mesh expects, and one process.
for form in npz safetensors; do
  expect_exit "parts as $form" 0 "$hlorun" -n 8 --input "$folder/io.npz" --output "$work/parts.$form" --output-shards \
    "$folder/prog.mlir"
  for mesh in d=1,m=2 d=2,m=2 d=3,m=2 d=2,m=4 d=4,m=2; do
    expect_exit "parts as $form on $mesh" 0 "$hlorun" --mesh "$mesh" --input "$folder/io.npz" --expect "$work/parts.$form" \
      --quiet "$folder/prog.mlir"
    expect_exit "other values than parts as $form on $mesh" 1 "$hlorun" --mesh "$mesh" --random-inputs \
      --expect "$work/parts.$form" --quiet "$folder/prog.mlir"
  done
done
expect_exit "parts on one process" 0 "$hlorun" -n 1 --input "$folder/io.npz" --expect "$work/parts.npz" --quiet \
  "$folder/prog.mlir"
expect_exit "parts of another program" 2 "$hlorun" -n 2 --random-inputs --expect "$work/parts.npz" \
  "$corpus/matmul_contracting/prog.mlir"
expect_text "parts of another program" "out0@0 of $work/parts.npz is float32[4,4], and no part of f32["

# Its axes, d=4 and m=2, of other sizes: annotations hold on them.
for mesh in d=2,m=2 d=1,m=4 d=3,m=2 m=2,d=2 d=2,m=2,z=2; do
  expect_exit "$mesh instead" 0 "$hlorun" --mesh "$mesh" --input "$folder/io.npz" --expect "$folder/io.npz" \
    "$folder/prog.mlir"
done
expect_exit "parts on d=2,m=4" 0 "$hlorun" -n 8 --mesh d=2,m=4 --input "$folder/io.npz" --output "$work/parts.txt" \
  --output-shards "$folder/prog.mlir"
grep -q '^out0@7 = f32\[8,2\]' "$work/parts.txt" && pass || fail "out0@7 is a part on d=2,m=4" "$work/parts.txt"
expect_exit "sub-axes of an axis that has become too small" 3 "$hlorun" -n 2 --mesh d=2 --random-inputs \
  "$corpus/sdy_sub_axes/prog.mlir"
expect_text "sub-axes of an axis that has become too small" 'sub-axis (1)2 of axis "d"'
expect_exit "a mesh without the program's axes" 0 "$hlorun" -n 2 --mesh x=2 --input "$folder/io.npz" \
  --expect "$folder/io.npz" "$folder/prog.mlir"
expect_text "a mesh without the program's axes" "--mesh has no effect"
expect_text "a mesh without the program's axes" '--mesh: x=2 has no axis "d", which the program'"'"'s shardings name: they are left out'

# A program without annotations, cut by options.
cat >"$work/plain.mlir" <<'PROGRAM'
module @plain {
  func.func @main(%x: tensor<8x6xf32>, %w: tensor<6x10xf32>) -> tensor<8x10xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x10xf32>) -> tensor<8x10xf32>
    %1 = stablehlo.tanh %0 : tensor<8x10xf32>
    return %1 : tensor<8x10xf32>
  }
}
PROGRAM
expect_exit "the plain program" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/plain.mlir"
expect_exit "the plain program, wild inputs" 0 "$hlorun" -n 1 --wild-inputs=3 --output "$work/wild.npz" "$work/plain.mlir"
for sharding in 'in0=data,model' 'in0=data,-;in1=-,model;out0=data,model' 'in1=model,data' 'in0=data+model' 'out0=?,data'; do
  expect_exit "--sharding '$sharding'" 0 "$hlorun" -n 4 --mesh data=2,model=2 --sharding "$sharding" --random-inputs \
    --output "$work/four.npz" "$work/plain.mlir"
  expect_exit "--sharding '$sharding', wild inputs" 0 "$hlorun" -n 4 --mesh data=2,model=2 --sharding "$sharding" \
    --wild-inputs=3 --quiet --expect "$work/wild.npz" "$work/plain.mlir"
  expect_exit "--sharding '$sharding': the same" 0 "$hlorun" -n 1 --random-inputs --quiet --expect "$work/four.npz" \
    "$work/plain.mlir"
done
expect_exit "--explain-sharding" 0 "$hlorun" -n 4 --mesh data=2,model=2 --sharding 'in0=data,-' --explain-sharding \
  "$work/plain.mlir"
expect_text "the report has the sharding" '<@mesh, [{"data"}, {}]> forward by'

expect_exit "--explain-sharding of collectives" 0 "$hlorun" -n 4 --mesh data=2,model=2 \
  --sharding 'in0=-,model;in1=model,-;out0=-,-' --explain-sharding "$work/plain.mlir"
expect_text "the report has the collective" 'sends 320 bytes: all-reduce of f32[8,10] among 2'
expect_text "the report has the sum" '1 collective, by which a process sends 320 bytes'
expect_exit "--explain-sharding=json" 0 "$hlorun" --mesh data=2,model=2 --sharding 'in0=-,model;in1=model,-;out0=-,-' \
  --explain-sharding=json --output "$work/report.json" "$work/plain.mlir"
if command -v python3 >/dev/null; then
  python3 - "$work/report.json" >"$work/out" 2>&1 <<'SCRIPT' && pass || fail "the report as JSON" "$work/out"
import json, sys
report = json.load(open(sys.argv[1]))
assert report["bytes"] == 320 and len(report["collectives"]) == 1 and not report["whole"], report
only = report["collectives"][0]
assert (only["collective"], only["shape"], only["group"], only["line"]) == ("all-reduce", "f32[8,10]", 2, 4), only
cut = [value["sharding"] for value in report["values"] if value["origin"] == "option"]
assert len(cut) == 3 and cut[0] == '<@mesh, [{}, {"model"}]>', cut
SCRIPT
else
  skip "python3 is not there"
fi
# Dimensions that are reversed together change places in one permute; an output names what asks for its sum.
cat >"$work/flip.mlir" <<'PROGRAM'
module @flip {
  sdy.mesh @mesh = <["a"=3, "b"=2]>
  func.func @main(%x: tensor<12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> (tensor<12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}, tensor<f32>) {
    %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<12x6xf32>
    %1 = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.reduce(%x init: %1) applies stablehlo.add across dimensions = [0, 1] : (tensor<12x6xf32>, tensor<f32>) -> tensor<f32>
    return %0, %2 : tensor<12x6xf32>, tensor<f32>
  }
}
PROGRAM
expect_exit "the report of a reverse" 0 "$hlorun" -n 6 --explain-sharding "$work/flip.mlir"
expect_text "the report of a reverse" "(reverse) sends 48 bytes: collective-permute of f32[4,3] among 6"
expect_text "the report of a reverse" "(custom-call of xla.sdy.FuncResultSharding) sends"
expect_text "the report of a reverse" "2 collectives, by which"
expect_exit "a reverse on one process" 0 "$hlorun" -n 1 --random-inputs --quiet --output "$work/flip.npz" "$work/flip.mlir"
expect_exit "a reverse on six" 0 "$hlorun" -n 6 --random-inputs --quiet --expect "$work/flip.npz" "$work/flip.mlir"
expect_exit "--explain-sharding=xml" 2 "$hlorun" --mesh data=2 --explain-sharding=xml "$work/plain.mlir"

# Training by options alone: carried values, parts of a batch that is fed, checkpoints that go on on another mesh. The
# program has no annotations; six steps of one process are what the others are compared with.
gpt=$source_dir/examples/gpt
step=(--steps 6 --input "$gpt/init.npz" --carry 1-60:0-59 --feed "60=$gpt/windows.npy" --quiet)
cuts='in60=data;in0=model;in5=-,model;in6=model;in11=-,model;in12=model;in17=-,model'
on_mesh() { # MESH NUMBER: the options that cut the training step
  printf '%s\n' -n "$2" --mesh "$1" --sharding "$cuts"
}
expect_exit "gpt on one process" 0 "$hlorun" -n 1 "${step[@]}" --output "$work/gpt.npz" "$gpt/global.mlir"
mapfile -t eight < <(on_mesh data=4,model=2 8)
expect_exit "gpt on data=4,model=2, verified, with figures and a timeline" 0 "$hlorun" "${eight[@]}" "${step[@]}" \
  --verify-comm --stats "$work/stats.json" --trace "$work/trace.json" --expect "$work/gpt.npz" "$gpt/global.mlir"
grep -q '"processes": 8' "$work/stats.json" && pass || fail "figures of eight processes" "$work/stats.json"
expect_exit "gpt: its schedule is proved" 0 "$hlorun" check "${eight[@]}" "$gpt/global.mlir"
expect_text "gpt: its schedule is proved" "SOUND: the schedule of 8 processes"
expect_exit "a mesh says how many processes" 0 "$hlorun" --mesh data=2,model=2 --sharding "$cuts" --verbose --steps 1 \
  --input "$gpt/init.npz" --feed "60=$gpt/windows.npy" --output "$work/one.npz" "$gpt/global.mlir"
expect_text "a mesh says how many processes" "4 processes as 1 replica of 4 partitions"
if command -v "$mpirun" >/dev/null; then
  leak_check_off
  expect_exit "gpt under mpirun" 0 "$mpirun" -n 4 "$hlorun" --mesh data=2,model=2 --sharding "$cuts" "${step[@]}" \
    --expect "$work/gpt.npz" "$gpt/global.mlir"
  leak_check_on
else
  skip "mpirun is not there"
fi
expect_exit "a result that is cut otherwise than the parameter it becomes" 0 "$hlorun" -n 4 --mesh data=4 \
  --sharding 'in60=data;out1=-,data;out2=data' "${step[@]}" --expect "$work/gpt.npz" "$gpt/global.mlir"

# A step that changes nothing but a counter: after another mesh the bits are the same.
cat >"$work/keep.mlir" <<'PROGRAM'
module @keep {
  func.func @main(%x: tensor<16x8xf32>, %n: tensor<i32>, %v: tensor<24xf64>) -> (tensor<i32>, tensor<16x8xf32>, tensor<24xf64>) {
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %n, %1 : tensor<i32>
    return %0, %x, %v : tensor<i32>, tensor<16x8xf32>, tensor<24xf64>
  }
}
PROGRAM
keep=(--carry 0:1,1:0,2:2 --random-inputs --input 1=0 --quiet --checkpoint "$work/kept")
expect_exit "what is kept" 0 "$hlorun" -n 1 --random-inputs --input 1=7 --output "$work/kept.npz" "$work/keep.mlir"
expect_exit "a checkpoint on data=4,model=2" 0 "$hlorun" -n 8 --mesh data=4,model=2 --sharding 'in0=data,model;in2=model' \
  --steps 3 --every 3 "${keep[@]}" --output "$work/three.npz" "$work/keep.mlir"
steps=3
while IFS='|' read -r processes mesh sharding engine; do
  steps=$((steps + 1))
  expect_exit "goes on on $processes processes, mesh $mesh, engine $engine" 0 "$hlorun" -n "$processes" --mesh "$mesh" \
    --sharding "$sharding" --engine "$engine" --steps "$steps" --every 1 --resume "${keep[@]}" \
    --output "$work/on.npz" "$work/keep.mlir"
done <<'CASES'
8|data=8,model=1|in0=data,-;in2=data|compiled
4|data=2,model=2|in0=model,data|reference
1|data=1|in0=-|compiled
6|data=2,model=3|in0=data;in2=model+data|compiled
1|data=1|in0=-|reference
CASES
expect_exit "the same bits after five meshes" 0 "$hlorun" -n 1 --steps 9 --every 1 --resume "${keep[@]}" \
  --output "$work/nine.npz" "$work/keep.mlir"
expect_exit "the same bits after five meshes" 0 "$hlorun" -n 2 --mesh data=2 --sharding 'in0=data' --random-inputs --ulp 0 \
  --input 1=8 --output "$work/again.npz" --expect "$work/nine.npz" "$work/keep.mlir"

# Random numbers of rng are drawn in parts and equal those of one process: dimensions that do not divide, pairs of normal
# numbers that parts divide, a loop, a function of two calls; and those of later steps, after a checkpoint on another mesh.
cat >"$work/rng.hlo" <<'PROGRAM'
HloModule drawn, num_partitions=8

draw {
  low = f32[] parameter(0)
  high = f32[] parameter(1)
  ROOT n = f32[6,5] rng(low, high), distribution=rng_normal
}

more {
  s = (s32[], f32[8,6]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT less = pred[] compare(i, three), direction=LT
}

again {
  s = (s32[], f32[8,6]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[8,6] get-tuple-element(s), index=1
  low = f32[] constant(0)
  high = f32[] constant(1)
  u = f32[8,6] rng(low, high), distribution=rng_uniform
  y = f32[8,6] add(x, u)
  ROOT t = (s32[], f32[8,6]) tuple(j, y)
}

ENTRY main {
  x = f32[8,6] parameter(0), sharding={devices=[4,2]<=[8]}
  low = f32[] constant(-1)
  high = f32[] constant(1)
  u = f32[8,6] rng(low, high), distribution=rng_uniform
  shaken = f32[8,6] add(x, u), sharding={devices=[4,2]<=[8]}
  mean = f64[] constant(1)
  deviation = f64[] constant(2)
  n = f64[9,5] rng(mean, deviation), distribution=rng_normal, sharding={devices=[4,2]<=[8]}
  negated = f64[9,5] negate(n)
  least = s32[] constant(-100)
  most = s32[] constant(100)
  d = s32[7,3,4] rng(least, most), distribution=rng_uniform, sharding={devices=[2,1,4]<=[4,2]T(1,0)}
  a = f32[6,5] call(low, high), to_apply=draw
  b = f32[6,5] call(low, high), to_apply=draw
  c = f32[6,5] subtract(a, b), sharding={devices=[1,4,2]3,2,1,0,7,6,5,4 last_tile_dim_replicate}
  zero = s32[] constant(0)
  begin = (s32[], f32[8,6]) tuple(zero, x)
  end = (s32[], f32[8,6]) while(begin), condition=more, body=again
  z = f32[8,6] get-tuple-element(end), index=1
  ROOT r = (f32[8,6], f64[9,5], s32[7,3,4], f32[6,5], f32[8,6]) tuple(shaken, negated, d, c, z)
}
PROGRAM
expect_exit "random numbers on one process" 0 "$hlorun" -n 1 --engine reference --random-inputs --quiet \
  --output "$work/drawn.npz" "$work/rng.hlo"
while IFS='|' read -r processes engine; do
  expect_exit "random numbers in parts, $processes, $engine" 0 "$hlorun" -n "$processes" --engine "$engine" \
    --random-inputs --quiet --ulp 0 --expect "$work/drawn.npz" "$work/rng.hlo"
done <<'CASES'
1|compiled
2|compiled
4|reference
8|compiled
8|reference
CASES
"$hlorun" --stop-after partition "$work/rng.hlo" >"$work/drawn.hlo" 2>&1
expect_exit "no whole array is drawn" 1 grep -E 'rng[.0-9]* = [a-z0-9]*\[(8,6|9,5|7,3,4)\]' "$work/drawn.hlo"
for form in hlo pb mlir; do
  expect_exit "parts of random numbers as $form" 0 "$hlorun" convert --to $form --output "$work/drawn.$form.$form" \
    "$work/drawn.hlo"
  "$hlorun" convert --to hlo "$work/drawn.$form.$form" 2>/dev/null | grep -c 'hlorun.rng.part="9,5:0,0:' >"$work/out"
  expect_text "parts of random numbers as $form" 1
done
rng=(--carry 0:0 --random-inputs --quiet --every 1 --checkpoint "$work/drawing")
expect_exit "random numbers of four steps" 0 "$hlorun" -n 1 --carry 0:0 --random-inputs --quiet --steps 4 \
  --output "$work/drawn.npz" "$work/rng.hlo"
expect_exit "random numbers of two steps on 8" 0 "$hlorun" -n 8 --steps 2 "${rng[@]}" "$work/rng.hlo"
expect_exit "random numbers of a third step on 2" 0 "$hlorun" -n 2 --mesh axis_0=2 --steps 3 --resume "${rng[@]}" "$work/rng.hlo"
expect_exit "random numbers of a fourth step on 1" 0 "$hlorun" -n 1 --steps 4 --resume "${rng[@]}" --ulp 0 \
  --expect "$work/drawn.npz" "$work/rng.hlo"

# A large array: each process maps its part alone, of an archive, too.
cat >"$work/largest.mlir" <<'PROGRAM'
module @largest {
  func.func @main(%x: tensor<1024x8192xf32>) -> tensor<f32> {
    %low = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<1024x8192xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
PROGRAM
if command -v python3 >/dev/null; then
  python3 - "$work" <<'SCRIPT'
import struct, sys, zipfile
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1024, 8192), }"
head += b" " * (117 - len(head)) + b"\n"
with open(sys.argv[1] + "/large.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
    for row in range(1024):
        file.write(struct.pack("<f", row) * 8192)
with zipfile.ZipFile(sys.argv[1] + "/large.npz", "w") as archive:
    archive.write(sys.argv[1] + "/large.npy", "in0.npy")
SCRIPT
  # The process that compiles needs memory for it: the code is kept before memory is measured.
  expect_exit "the code for parts" 0 "$hlorun" -n 4 --mesh data=4 --sharding in0=data --input "0=$work/large.npy" \
    "$work/largest.mlir"
  for file in "0=$work/large.npy" "$work/large.npz"; do
    expect_exit "parts of ${file##*/}" 0 "$hlorun" -n 4 --mesh data=4 --sharding in0=data --input "$file" \
      --stats "$work/stats.json" "$work/largest.mlir"
    expect_text "parts of ${file##*/}" "out0 = f32[] 1023"
    python3 - "$work/stats.json" >"$work/out" 2>&1 <<'SCRIPT' && pass || fail "each maps its part of $file" "$work/out"
import json, sys
peaks = [rank["peak_rss_bytes"] for rank in json.load(open(sys.argv[1]))["per_rank"]]
# The whole has 32 MiB, a part and its copy 16, and the process at least 12 of its own, more where the pages of its code
# are large; the first process compares an archive's check sum.
print(peaks)
assert all(peak < (16 + 20) << 20 for peak in peaks[1:]), peaks
SCRIPT
  done
else
  skip "python3 is not there"
fi

# Parts do not pass for the whole.
expect_exit "an input of a part's sizes" 2 "$hlorun" -n 4 --mesh data=4 --sharding 'in0=data' --random-inputs \
  --input '0=f32[2,6]{{1,2,3,4,5,6},{1,2,3,4,5,6}}' "$work/plain.mlir"
expect_text "an input of a part's sizes" "f32[8,6]"
expect_exit "an input of one value" 0 "$hlorun" -n 4 --mesh data=4 --sharding 'in0=data' --input 0=1 --input 1=0.5 \
  "$work/plain.mlir"
expect_text "an input of one value" "0.995054"

# Feeds are taken from, and given to, by one device: the one that is named, or the first.
cat >"$work/fed.hlo" <<'PROGRAM'
HloModule fed, num_partitions=4

ENTRY main {
  x = f32[8,6] parameter(0), sharding={devices=[4,1]<=[4]}
  t = token[] after-all()
  in = (f32[8,6], token[]) infeed(t), sharding={{maximal device=2}, {maximal device=2}}
  y = f32[8,6] get-tuple-element(in), index=0
  after = token[] get-tuple-element(in), index=1
  z = f32[8,6] add(x, y), sharding={devices=[2,2]<=[4]}
  out = token[] outfeed(z, after), outfeed_shape=f32[8,6], sharding={maximal device=1}
  ROOT r = f32[8,6] negate(z), sharding={devices=[2,2]<=[4]}
}
PROGRAM
printf 'HloModule v\nENTRY e { ROOT x = f32[1,8,6] parameter(0) }\n' >"$work/values.hlo"
expect_exit "values to feed" 0 "$hlorun" --random-inputs=5 --quiet --output "$work/feed.npy" "$work/values.hlo"
expect_exit "fed, one process" 0 "$hlorun" -n 1 --random-inputs --quiet --infeed "file:$work/feed.npy" \
  --outfeed "file:$work/fed-1.npz" --output "$work/one.npz" "$work/fed.hlo"
expect_exit "fed, four" 0 "$hlorun" -n 4 --random-inputs --quiet --infeed "file:$work/feed.npy" \
  --outfeed "file:$work/fed-4-%p.npz" --expect "$work/one.npz" "$work/fed.hlo"
cmp "$work/fed-1.npz" "$work/fed-4-1.npz" >"$work/out" 2>&1 && pass || fail "partition 1 wrote the outfeed" "$work/out"

# One array for one result, of which each process compares its part.
folder=$corpus/matmul_blocks
expect_exit "--expect of one array" 0 "$hlorun" -n 8 --quiet --input 0="$folder/io.npz:in0" --input 1="$folder/io.npz:in1" \
  --expect 0="$folder/io.npz:out0" "$folder/prog.mlir"
expect_exit "--expect of an array of other sizes" 2 "$hlorun" -n 8 --quiet --input "$folder/io.npz" \
  --expect 0="$folder/io.npz:in0" "$folder/prog.mlir"
expect_exit "--expect of a result that is none" 2 "$hlorun" -n 8 --quiet --input "$folder/io.npz" \
  --expect 7="$folder/io.npz:out0" "$folder/prog.mlir"
expect_text "--expect of a result that is none" 'there is no result 7, the program has 1'
expect_exit "--mesh of more devices than processes" 2 "$hlorun" -n 4 --mesh data=8 --sharding in0=data --random-inputs \
  "$work/plain.mlir"
expect_text "--mesh of more devices than processes" "data=8 has 8 devices, which do not fit 4 processes"
expect_exit "the plain program again" 0 "$hlorun" -n 1 --random-inputs --output "$work/alone.npz" "$work/plain.mlir"
for sharding in 'in0=data' 'in0=-,data;in1=data'; do
  expect_exit "replicas of a mesh: $sharding" 0 "$hlorun" -n 4 --num-replicas 2 --mesh data=2 --sharding "$sharding" \
    --random-inputs --expect "$work/alone.npz" "$work/plain.mlir"
  expect_exit "check of replicas of a mesh: $sharding" 0 "$hlorun" check -n 4 --num-replicas 2 --mesh data=2 \
    --sharding "$sharding" "$work/plain.mlir"
done
# Elements of a type without zero, which parts find by an index and merge.
cat >"$work/scales.mlir" <<'PROGRAM'
module @scales {
  func.func @main(%x: tensor<12x16xf8E8M0FNU>, %i: tensor<6x1xi32>) -> (tensor<5x9xf8E8M0FNU>, tensor<6x16xf8E8M0FNU>) {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %0 = stablehlo.dynamic_slice %x, %three, %three, sizes = [5, 9] : (tensor<12x16xf8E8M0FNU>, tensor<i32>, tensor<i32>) -> tensor<5x9xf8E8M0FNU>
    %1 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>} : (tensor<12x16xf8E8M0FNU>, tensor<6x1xi32>) -> tensor<6x16xf8E8M0FNU>
    return %0, %1 : tensor<5x9xf8E8M0FNU>, tensor<6x16xf8E8M0FNU>
  }
}
PROGRAM
expect_exit "scales on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/scales.npz" "$work/scales.mlir"
for engine in compiled reference; do
  expect_exit "scales on four, $engine" 0 "$hlorun" --mesh d=2,m=2 --sharding in0=d,m --engine $engine --random-inputs \
    --expect "$work/scales.npz" "$work/scales.mlir"
done

# Sums of complex numbers of 16 bytes, as many as generated code combines in one call, fewer and more.
for count in 5 1000 1024 1500; do
  cat >"$work/complex.mlir" <<PROGRAM
module @complex {
  func.func @main(%x: tensor<4x${count}xcomplex<f64>>) -> tensor<${count}xcomplex<f64>> {
    %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f64>>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x${count}xcomplex<f64>>, tensor<complex<f64>>) -> tensor<${count}xcomplex<f64>>
    return %0 : tensor<${count}xcomplex<f64>>
  }
}
PROGRAM
  expect_exit "$count complex sums on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/sums.npz" "$work/complex.mlir"
  expect_exit "$count complex sums on two" 0 "$hlorun" --mesh d=2 --sharding in0=d --random-inputs --expect "$work/sums.npz" \
    "$work/complex.mlir"
done
# Parts that do not divide a dimension: fewer are made, and that is said once, with the numbers.
cat >"$work/six.mlir" <<'END'
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %0 = stablehlo.add %x, %x : tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}
END
expect_exit "--sharding that does not divide" 0 "$hlorun" -n 4 --mesh data=4 --sharding 'in0=data' --random-inputs \
  "$work/six.mlir"
expect_text "--sharding that does not divide" \
  "warning: --sharding: dimension 0 of in0 has a size of 6, which 4 parts do not divide: it is cut into 2"
if [ "$(grep -c 'do not divide' "$work/out")" -eq 1 ]; then pass; else fail "a warning of four processes" "$work/out"; fi
expect_exit "check --sharding that does not divide" 0 "$hlorun" check -n 4 --mesh data=4 --sharding 'in0=-,data;out0=data' \
  "$work/six.mlir"
expect_text "check --sharding that does not divide" "1 parameter, on global arrays"
expect_text "check --sharding that does not divide" "dimension 0 of out0 has a size of 6, which 4 parts do not divide"
expect_exit "--sharding in five" 0 "$hlorun" -n 5 --mesh data=5 --sharding 'in0=data' --random-inputs "$work/six.mlir"
expect_text "--sharding in five" "which 5 parts do not divide: it stays whole"

# What is to run on one device: one partition calls, the others get its results.
cat >"$work/once.hlo" <<'PROGRAM'
HloModule once, num_partitions=4

ENTRY main {
  x = f32[8,6] parameter(0), sharding={devices=[4,1]<=[4]}
  c = f32[8,6] custom-call(x), custom_call_target="LayoutConstraint", custom_call_has_side_effect=true, sharding={maximal device=2}
  ROOT r = f32[8,6] negate(c), sharding={devices=[2,2]<=[4]}
}
PROGRAM
expect_exit "a call on one device, one process" 0 "$hlorun" -n 1 --random-inputs --quiet --output "$work/one.npz" "$work/once.hlo"
for engine in compiled reference; do
  expect_exit "a call on one device, $engine" 0 "$hlorun" -n 4 --engine $engine --random-inputs --quiet \
    --expect "$work/one.npz" "$work/once.hlo"
done
"$hlorun" -n 4 --stop-after partition "$work/once.hlo" >"$work/out" 2>&1
expect_text "a call on one device is in a branch" 'true_computation=%on_device, false_computation=%elsewhere'

# What begins an asynchronous operation in a manual computation is the operand of what ends it.
"$hlorun" -n 4 --stop-after partition "$source_dir/tests/cases/manual_async.mlir" >"$work/out" 2>&1
expect_text "an asynchronous operation keeps its parts" 'async-done(%async-start'

"$hlorun" -n 4 --stop-after partition "$source_dir/tests/cases/sharding_group_iota.mlir" >"$work/out" 2>&1
expect_text "a member of a sharding group is cut as the others" '->s32[4,1]'

# All forms of sdy in text, as bytecode, portable artifact, HLO and proto.
for name in forms forms_of_collectives; do
  program=$source_dir/tests/partition/$name.mlir
  expect_exit "$name" 0 "$hlorun" -n 8 --random-inputs --quiet --output "$work/one.npz" "$program"
  for form in mlir mlirbc hlo pb 'mlirbc --target-version 1.14.0'; do
    # shellcheck disable=SC2086
    expect_exit "$name as $form" 0 "$hlorun" convert --to $form --output "$work/forms" "$program"
    expect_exit "$name from $form" 0 "$hlorun" -n 8 --random-inputs --quiet --expect "$work/one.npz" "$work/forms"
  done
done
"$hlorun" convert --to mlir --output "$work/text.mlir" "$program"
"$hlorun" convert --to mlirbc --output "$work/forms.mlirbc" "$program"
"$hlorun" convert --to mlir --output "$work/again.mlir" "$work/forms.mlirbc"
diff "$work/text.mlir" "$work/again.mlir" >"$work/out" && pass || fail "$name: the same text by way of bytecode" "$work/out"
cp "$work/text.mlir" "$work/out"
expect_text "lists of axes have their kinds" 'axes = #sdy<list_of_axis_ref_lists[{}, {"a"}]>, out_sharding = #sdy.sharding<@mesh'
expect_text "one list of axes has its kind" 'reduction_axes = #sdy<axis_ref_list{"a"}>'
# A single result is the element of a tuple in JAX's HLO with GSPMD's shardings: its sharding is that of the result.
cat >"$work/root.hlo" <<'PROGRAM'
HloModule root
ENTRY main {
  x = f32[8,4] parameter(0), sharding={devices=[4,1]<=[4]}
  y = f32[4,8] transpose(x), dimensions={1,0}
  t = (f32[4,8]) tuple(y)
  ROOT r = f32[4,8] get-tuple-element(t), index=0, sharding={devices=[2,2]<=[4]}
}
PROGRAM
expect_exit "the sharding of a tuple's element" 0 "$hlorun" -n 4 --random-inputs --output-shards -o "$work/root.txt" "$work/root.hlo"
grep -q '^out0@3 = f32\[2,4\]' "$work/root.txt" && pass || fail "the sharding of a tuple's element" "$work/root.txt"
finish
