#!/usr/bin/env bash
# The partitioner: how many bytes the programs of tests/partition/bytes send, and the memory of planning. A program has lines
# "// RUN: OPTIONS", which are those of 8 processes, and after each of them lines "// CHECK: TEXT", which are in what
# --explain-sharding prints. The result is that of one process.
set -u
. "$(dirname "$0")/common.sh"

command -v python3 >/dev/null || { skip "python3 is not there"; finish; }
programs=$source_dir/tests/partition/bytes

for program in "$programs"/*; do
  name=$(basename "${program%.*}")
  grep -q '^// RUN:' "$program" && grep -q '^// CHECK: .' "$program" || fail "$name has no RUN or CHECK line"
  expect_exit "$name on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$program"
  while read -r _ key rest; do
    case $key in
      RUN:)
        read -ra cuts <<<"$rest"
        expect_exit "$name on eight, $rest" 0 "$hlorun" -n 8 "${cuts[@]}" --random-inputs --expect "$work/one.npz" "$program"
        expect_exit "$name is explained" 0 "$hlorun" -n 8 "${cuts[@]}" --explain-sharding "$program" ;;
      CHECK:) expect_text "$name: $rest" "$rest" ;;
    esac
  done < <(grep -E '^// (RUN|CHECK):' "$program")
done

# A sum that nobody uses is not made, in a manual computation either.
cat >"$work/dead.mlir" <<'PROGRAM'
module @dead attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["d"=4]>
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"d"}]>] out_shardings=[<@mesh, [{"d"}]>, <@mesh, []>] manual_axes={"d"} (%a: tensor<2xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
      %all = "stablehlo.all_reduce"(%sum) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<f32>) -> tensor<f32>
      %twice = stablehlo.add %a, %a : tensor<2xf32>
      sdy.return %twice, %all : tensor<2xf32>, tensor<f32>
    } : (tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>)
    return %0#0 : tensor<8xf32>
  }
}
PROGRAM
"$hlorun" -n 4 --stop-after passes "$work/dead.mlir" >"$work/out" 2>&1 && ! grep -q all-reduce "$work/out" && pass ||
  fail "a sum that nobody uses" "$work/out"
expect_exit "without a sum" 0 "$hlorun" -n 4 --input '0=f32[8]{1,2,3,4,5,6,7,8}' "$work/dead.mlir"
expect_text "without a sum" '{2, 4, 6, 8, 10, 12, 14, 16}'

# Values and indices of the largest elements, of two types, are gathered together.
"$hlorun" -n 8 --mesh d=4,m=2 --sharding 'in0=d+m;out0=-;out1=-' --stop-after passes "$programs/largest_elements.mlir" \
  >"$work/out" 2>&1
[ "$(grep -c ' all-gather(' "$work/out")" = 1 ] && pass || fail "one gather of two types" "$work/out"

# The gradient of weights that are cut: the operands of eight processes are gathered at one place, instead of adding up a
# product of full size of each process. In a loop nothing lies at one place.
cat >"$work/gradient.mlir" <<'PROGRAM'
module @gradient {
  func.func @main(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>) -> tensor<256x256xf32> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    return %0 : tensor<256x256xf32>
  }
}
PROGRAM
cat >"$work/gradients.mlir" <<'PROGRAM'
module @gradients {
  func.func @main(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>) -> tensor<256x256xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %scale = stablehlo.constant dense<0.01> : tensor<256x256xf32>
    %0:2 = stablehlo.while(%i = %zero, %s = %y) : tensor<i32>, tensor<256x256xf32>
     cond {
      %more = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %p = stablehlo.dot_general %x, %s, contracting_dims = [0] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %q = stablehlo.multiply %p, %scale : tensor<256x256xf32>
      stablehlo.return %next, %q : tensor<i32>, tensor<256x256xf32>
    }
    return %0#1 : tensor<256x256xf32>
  }
}
PROGRAM
# multiplies PROCESSES PROGRAM TEXT: its collectives, and what it gives beside one process.
multiplies() {
  local cuts=(-n "$1" --mesh "d=$1" --sharding 'in0=d;in1=d;out0=d')
  expect_exit "$2 on $1 is explained" 0 "$hlorun" "${cuts[@]}" --explain-sharding "$work/$2.mlir"
  expect_text "$2 on $1 is explained" "$3"
  expect_exit "$2 on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/$2.mlir"
  for engine in reference compiled; do
    expect_exit "$2 on $1, $engine" 0 "$hlorun" "${cuts[@]}" --engine $engine --random-inputs --steps 3 \
      --expect "$work/one.npz" "$work/$2.mlir"
  done
}
multiplies 8 gradient "2 collectives, by which a process sends 258048 bytes"
multiplies 4 gradient "1 collective, by which a process sends 196608 bytes"
multiplies 8 gradients "reduce-scatter"

# All gradients of a small model, 164 KB, are one all-reduce.
"$hlorun" -n 8 --mesh data=8 --sharding in60=data --carry 1-60:0-59 --stop-after passes \
  "$source_dir/examples/gpt/global.mlir" >"$work/out" 2>&1
[ "$(grep -c ' all-reduce(' "$work/out")" = 1 ] && pass || fail "gradients of a small model" "$work/out"

# The memory of planning one process's part does not grow with the number of processes.
python3 - "$hlorun" "$source_dir/examples/gpt/global.mlir" >"$work/out" 2>&1 <<'SCRIPT' && pass || fail "memory" "$work/out"
import os, subprocess, sys
def peak(size):
    run = subprocess.Popen([sys.argv[1], "--mesh", f"data={size}", "--sharding", "in60=data", "--carry", "1-60:0-59",
                            "--stop-after", "plan", sys.argv[2]], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(run.pid, 0)
    assert status == 0, status
    return usage.ru_maxrss
peaks = [min(peak(size) for _ in range(4)) for size in (8, 4096)]  # pages of the library that are mapped differ by run
print(peaks)  # KiB
assert peaks[1] < 1.1 * peaks[0] + 2048, peaks
SCRIPT

# Nor does it grow with their square: parts of a reversal are all at different distances.
cat >"$work/reversed.mlir" <<'PROGRAM'
module @reversed {
  func.func @main(%x: tensor<8192x4xf32>) -> tensor<8192x4xf32> {
    %0 = stablehlo.reverse %x, dims = [0] : tensor<8192x4xf32>
    return %0 : tensor<8192x4xf32>
  }
}
PROGRAM
python3 - "$hlorun" "$work/reversed.mlir" >"$work/out" 2>&1 <<'SCRIPT' && pass || fail "memory of a reversal" "$work/out"
import resource, subprocess, sys
subprocess.run([sys.argv[1], "--mesh", "data=4096", "--sharding", "in0=data;out0=data", "--stop-after", "plan", sys.argv[2]],
               stdout=subprocess.DEVNULL, check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(peak)  # KiB
assert peak < 200 << 10, peak
SCRIPT
finish
