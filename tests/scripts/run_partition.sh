#!/usr/bin/env bash
# The partitioner: bytes that partitions of the corpus send, against XLA's; random programs on random meshes, cut at random,
# against one process of the reference engine. TEST_PARTITION_SEEDS and TEST_PARTITION_COUNT choose others of them.
set -u
. "$(dirname "$0")/common.sh"

command -v python3 >/dev/null || { skip "python3 is not there"; finish; }
random=$source_dir/tests/random

if timeout 300 python3 "$source_dir/tests/tools/spmd_bytes.py" "$hlorun" "$source_dir/tests/corpora/auto_spmd" \
  "$source_dir/tests/partition/xla_bytes.list" >"$work/out" 2>&1; then
  tail -n 1 "$work/out"
  pass
else
  fail "no program sends more bytes than XLA's" "$work/out"
fi

# Prefix sums gather the totals of the parts: 7 of 3 numbers.
expect_exit "prefix sums" 0 "$hlorun" --explain-sharding --stop-after partition -n 8 \
  "$source_dir/tests/corpora/auto_spmd/cumsum_sharded/prog.mlir"
expect_text "prefix sums" "1 collective, by which a process sends 84 bytes"
# So do those of any function whose initial value is its identity: the last number that is not zero, from either end.
for ends in "22, 0" "0, 22"; do
  cat >"$work/last.mlir" <<PROGRAM
module @last {
  func.func @main(%y: tensor<3x24xf32>) -> tensor<3x24xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %floor = stablehlo.floor %y : tensor<3x24xf32>
    %x = stablehlo.slice %floor [0:3, 0:23] : (tensor<3x24xf32>) -> tensor<3x23xf32>
    %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [$ends]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 23>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare NE, %b, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %d = stablehlo.select %c, %b, %a : tensor<i1>, tensor<f32>
      stablehlo.return %d : tensor<f32>
    }) : (tensor<3x23xf32>, tensor<f32>) -> tensor<3x23xf32>
    %1 = stablehlo.pad %0, %zero, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<3x23xf32>, tensor<f32>) -> tensor<3x24xf32>
    return %1 : tensor<3x24xf32>
  }
}
PROGRAM
  cuts=(-n 4 --mesh d=4 --sharding 'in0=-,d;out0=-,d')
  expect_exit "last numbers, $ends" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/last.mlir"
  expect_exit "last numbers, $ends, are explained" 0 "$hlorun" "${cuts[@]}" --explain-sharding "$work/last.mlir"
  expect_text "last numbers, $ends, are explained" "1 collective, by which a process sends 36 bytes"
  for engine in reference compiled; do
    expect_exit "last numbers, $ends, $engine" 0 "$hlorun" "${cuts[@]}" --engine $engine --random-inputs --ulp 0 \
      --expect "$work/one.npz" "$work/last.mlir"
  done
done

# Slices of a padded array are windows of the array: a stencil fetches one line from each side, and nothing of the pad, whose
# parts are shifted.
cat >"$work/stencil.mlir" <<'PROGRAM'
module @stencil {
  func.func @main(%x: tensor<32x16xf32>) -> tensor<32x16xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %p = stablehlo.pad %x, %zero, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<32x16xf32>, tensor<f32>) -> tensor<34x18xf32>
    %up = stablehlo.slice %p [0:32, 1:17] : (tensor<34x18xf32>) -> tensor<32x16xf32>
    %down = stablehlo.slice %p [2:34, 1:17] : (tensor<34x18xf32>) -> tensor<32x16xf32>
    %left = stablehlo.slice %p [1:33, 0:16] : (tensor<34x18xf32>) -> tensor<32x16xf32>
    %right = stablehlo.slice %p [1:33, 2:18] : (tensor<34x18xf32>) -> tensor<32x16xf32>
    %corner = stablehlo.slice %p [0:32, 0:16] : (tensor<34x18xf32>) -> tensor<32x16xf32>
    %0 = stablehlo.subtract %up, %down : tensor<32x16xf32>
    %1 = stablehlo.subtract %left, %right : tensor<32x16xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<32x16xf32>
    %3 = stablehlo.add %2, %corner : tensor<32x16xf32>
    return %3 : tensor<32x16xf32>
  }
}
PROGRAM
cuts=(-n 8 --mesh a=4,b=2 --sharding 'in0=a,b;out0=a,b')
expect_exit "the stencil on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/stencil.mlir"
expect_exit "the stencil is explained" 0 "$hlorun" "${cuts[@]}" --explain-sharding "$work/stencil.mlir"
expect_text "the stencil is explained" "6 collectives, by which a process sends 120 bytes"
for engine in reference compiled; do
  expect_exit "the stencil on eight, $engine" 0 "$hlorun" "${cuts[@]}" --engine $engine --random-inputs --ulp 0 --expect "$work/one.npz" \
    "$work/stencil.mlir"
done

# Parts of a sum of products are added before they are rounded to a float of a byte.
for type in f8E4M3FN f8E5M2 f8E3M4; do
  cat >"$work/narrow.mlir" <<PROGRAM
module @narrow {
  func.func @main(%x: tensor<8x64x$type>, %y: tensor<64x8x$type>) -> tensor<8x8x$type> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<8x64x$type>, tensor<64x8x$type>) -> tensor<8x8x$type>
    return %0 : tensor<8x8x$type>
  }
}
PROGRAM
  expect_exit "products of $type" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/narrow.mlir"
  for engine in reference compiled; do
    expect_exit "parts of products of $type, $engine" 0 "$hlorun" -n 4 --mesh d=4 --sharding 'in0=-,d;in1=d' --engine $engine \
      --random-inputs --ulp 0 --expect "$work/one.npz" "$work/narrow.mlir"
  done
done

# Long expressions of constants, or of what is whole everywhere, are not walked by recursion.
for type in f32 64xf32; do
  awk -v type="$type" 'BEGIN {
    print "module @chain {\n  sdy.mesh @mesh = <[\"d\"=8]>"
    print "  func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"d\"}, {}]>}, %p: tensor<" type ">) -> tensor<16x64xf32> {"
    print "    %c0 = stablehlo.broadcast_in_dim %p, dims = [" (type == "f32" ? "" : "0") "] : (tensor<" type ">) -> tensor<64xf32>"
    for (i = 1; i <= 200000; i++) print "    %c" i " = stablehlo.tanh %c" i - 1 " : tensor<64xf32>"
    print "    %b = stablehlo.broadcast_in_dim %c200000, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>"
    print "    %y = stablehlo.add %x, %b : tensor<16x64xf32>\n    return %y : tensor<16x64xf32>\n  }\n}"
  }' >"$work/chain.mlir"
  expect_exit "a chain of 200,000 operations on $type" 0 "$hlorun" --stop-after partition "$work/chain.mlir"
done

# A weight that a loop does not change is gathered before the loop, once.
cat >"$work/loop.mlir" <<'PROGRAM'
module @loop {
  func.func @main(%w: tensor<32x32xf32>, %x: tensor<64x32xf32>) -> tensor<64x32xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %last:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<64x32xf32>
    cond {
      %n = stablehlo.constant dense<12> : tensor<i32>
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %dot = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
      %tanh = stablehlo.tanh %dot : tensor<64x32xf32>
      stablehlo.return %next, %tanh : tensor<i32>, tensor<64x32xf32>
    }
    return %last#1 : tensor<64x32xf32>
  }
}
PROGRAM
cuts=(-n 4 --mesh data=4 --sharding 'in0=data;in1=data')
"$hlorun" "${cuts[@]}" --stop-after passes "$work/loop.mlir" >"$work/out" 2>&1
sed -n '/^ENTRY/,$p' "$work/out" | grep -q all-gather && ! sed '/^ENTRY/,$d' "$work/out" | grep -q all-gather && pass ||
  fail "gathered before the loop" "$work/out"
expect_exit "the loop on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/loop.mlir"
expect_exit "the loop on four" 0 "$hlorun" "${cuts[@]}" --random-inputs --expect "$work/one.npz" "$work/loop.mlir"

# Sums before and after a loop with collectives are reduced together.
cat >"$work/sums.mlir" <<'PROGRAM'
module @sums {
  func.func @main(%x: tensor<64x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %first = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0] : (tensor<64x4xf32>, tensor<f32>) -> tensor<4xf32>
    %square = stablehlo.multiply %first, %first : tensor<4xf32>
    %last:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<64x4xf32>
    cond {
      %n = stablehlo.constant dense<40> : tensor<i32>
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %sum = stablehlo.reduce(%c init: %init) applies stablehlo.add across dimensions = [0] : (tensor<64x4xf32>, tensor<f32>) -> tensor<4xf32>
      %rows = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<4xf32>) -> tensor<64x4xf32>
      %new = stablehlo.subtract %rows, %c : tensor<64x4xf32>
      %tanh = stablehlo.tanh %new : tensor<64x4xf32>
      stablehlo.return %next, %tanh : tensor<i32>, tensor<64x4xf32>
    }
    %second = stablehlo.reduce(%last#1 init: %init) applies stablehlo.add across dimensions = [0] : (tensor<64x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %square, %second : tensor<4xf32>, tensor<4xf32>
  }
}
PROGRAM
cuts=(-n 4 --mesh data=4 --sharding 'in0=data')
"$hlorun" "${cuts[@]}" --stop-after combine "$work/sums.mlir" >"$work/out" 2>&1
[ "$(sed -n '/^ENTRY/,$p' "$work/out" | grep -c ' all-reduce(')" -eq 1 ] && pass || fail "one sum beside a loop" "$work/out"
expect_exit "sums beside a loop on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/sums.mlir"
expect_exit "sums beside a loop on four" 0 "$hlorun" "${cuts[@]}" --random-inputs --expect "$work/one.npz" "$work/sums.mlir"

# What a loop takes row by row, and leaves as it is, is gathered before it if its rows are cut.
sed 's/tensor<32x32xf32>/tensor<12x32xf32>/g; s/%dot = .*/%row = stablehlo.dynamic_slice %w, %i, %zero, sizes = [1, 32] : (tensor<12x32xf32>, tensor<i32>, tensor<i32>) -> tensor<1x32xf32>\
      %rows = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<64x32xf32>\
      %dot = stablehlo.add %c, %rows : tensor<64x32xf32>/' "$work/loop.mlir" >"$work/scan.mlir"
scan=(-n 4 --mesh a=2,b=2 --sharding 'in0=a,-;in1=b')
expect_exit "the scan is explained" 0 "$hlorun" "${scan[@]}" --explain-sharding "$work/scan.mlir"
expect_text "the scan is explained" "1 collective, by which a process sends 768 bytes"
expect_exit "the scan on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/scan.mlir"
expect_exit "the scan on four" 0 "$hlorun" "${scan[@]}" --random-inputs --expect "$work/one.npz" "$work/scan.mlir"

# The layers of a stack that are cut by columns in the loop are cut so before it, instead of gathered.
cat >"$work/layers.mlir" <<'PROGRAM'
module @layers {
  func.func @main(%w: tensor<8x16x16xf32>, %x: tensor<32x16xf32>) -> tensor<32x16xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.while(%v = %w, %i = %zero, %c = %x) : tensor<8x16x16xf32>, tensor<i32>, tensor<32x16xf32>
    cond {
      %end = stablehlo.constant dense<8> : tensor<i32>
      %p = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %1 = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, 16, 16] : (tensor<8x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
      %2 = stablehlo.reshape %1 : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
      %3 = stablehlo.dot_general %c, %2, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
      %4 = stablehlo.tanh %3 : tensor<32x16xf32>
      %5 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %v, %5, %4 : tensor<8x16x16xf32>, tensor<i32>, tensor<32x16xf32>
    }
    return %0#2 : tensor<32x16xf32>
  }
}
PROGRAM
layers=(-n 8 --mesh a=2,b=4 --sharding 'in0=a+b;in1=-,a+b;out0=-,a+b')
expect_exit "the layers are explained" 0 "$hlorun" "${layers[@]}" --explain-sharding "$work/layers.mlir"
expect_text "the layers are explained" "(while) sends 896 bytes: all-to-all of f32[8,1,16,2] among 8"
expect_text "the layers are explained" "2 collectives, by which a process sends 2688 bytes"
expect_exit "the layers on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/layers.mlir"
expect_exit "the layers on eight" 0 "$hlorun" "${layers[@]}" --random-inputs --expect "$work/one.npz" "$work/layers.mlir"

# ApproxTopK whose results do not fit its operands: more elements, no array, other sizes, other types.
cat >"$work/approx.mlir" <<'PROGRAM'
module @approx {
  sdy.mesh @mesh = <["d"=2]>
  func.func @greater(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"d"}]>}) -> (RESULTS) {
    %0 = stablehlo.iota dim = 1 : tensor<8x16xi32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1:2 = stablehlo.custom_call @ApproxTopK(%x, %0, %cst, %c) {called_computations = [@greater], mhlo.backend_config = {reduction_dim = 1 : i64, top_k = 5 : i64}} : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (RESULTS)
    return %1#0, %1#1 : RESULTS
  }
}
PROGRAM
for row in 0:tensor\<8x5xf32\>,tensor\<8x5xi32\> 3:tensor\<8x50xf32\>,tensor\<8x50xi32\> 3:tensor\<f32\>,tensor\<8xi32\> \
  3:tensor\<7x5xf32\>,tensor\<7x5xi32\> 3:tensor\<8x5xi32\>,tensor\<8x5xi32\>; do
  sed "s/RESULTS/${row#*:}/" "$work/approx.mlir" >"$work/results.mlir"
  expect_exit "ApproxTopK with ${row#*:}" "${row%%:*}" "$hlorun" -n 2 --random-inputs --quiet "$work/results.mlir"
done

# What a custom call says about the layouts of its operands is said of the parts.
cat >"$work/call.mlir" <<'PROGRAM'
module @call attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x3xf32> {
    %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>],
      sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=3}, custom>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
PROGRAM
expect_exit "layouts of a part" 0 "$hlorun" --stop-after partition "$work/call.mlir"
expect_text "layouts of a part" "operand_layout_constraints={f32[2,3]{0,1}}"

# refuses RULE TEXT: the same call with another rule, whose tensors do not fit.
refuses() {
  sed "s/op_sharding_rule<.*, custom>/op_sharding_rule<$1, custom>/" "$work/call.mlir" >"$work/rule.mlir"
  expect_exit "the rule $1" 3 "$hlorun" --stop-after partition "$work/rule.mlir"
  expect_text "the rule $1" "its sharding rule $2"
}
refuses "([i, i])->([i, j]) {i=4, j=3}" "has factor i twice for one value"
refuses "([ii, j])->([i, j]) {i=4, j=3}" "has factor i twice for one value"
refuses "([i, j])->([i, j]) {i=4, j=2}" "makes dimension 1 of value 0 2, want 3"
refuses "([i, j])->([i]) {i=4, j=3}" "has 1 dimension for result 0, want 2"
refuses "([i, j], [i])->([i, j]) {i=4, j=3}" "is for more than 1 operand"
refuses "([i, j])->([i, j]) {i=4, j=3, k=2}" "uses factor k of size 2 nowhere"
refuses "([i, j])->([i, j]) {i=4, j=3} reduction={k}" "has no factor k"

# refuse NAME MESSAGE INSTRUCTION: a program of which the partitioner cannot do the instruction on x, f32[8] in 4 parts.
refuse() {
  cat >"$work/refused.hlo" <<PROGRAM
HloModule refused, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["d"=4]>}}

ENTRY main {
  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}, frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"d\\"}]>"}
  n = s32[] constant(5)
  $3
}
PROGRAM
  expect_exit "$1" 3 "$hlorun" -n 4 --random-inputs "$work/refused.hlo"
  expect_text "$1" "$2"
  expect_text "$1 has a place" 'refused.hlo:6:'
}
refuse "partition-id" "want it inside of a manual computation" "ROOT p = u32[] partition-id()"
refuse "a value of no manual computation" "not manual over axes of the program's sdy meshes, want one of an sdy.manual_computation" \
  'ROOT y = f32[32] custom-call(x), custom_call_target="SPMDShardToFullShape", sharding={devices=[4]<=[4]}'
refuse "a rule without a comma" 'the sharding rule has "custom", want its end' 'ROOT r = f32[8] custom-call(x), custom_call_target="f", '\
'frontend_attributes={xla.sdy.sharding_rule="#sdy.op_sharding_rule<([i])->([i]) {i=8} custom>"}'
refuse "a dynamic result" "its size is known only at run time, and results of sharded programs need static sizes" \
  "ROOT d = f32[<=8] set-dimension-size(x, n), dimensions={0}"
refuse "a dynamic dimension that is cut" "its size is known only at run time, so that it cannot be cut" \
  'd = f32[<=8] set-dimension-size(x, n), dimensions={0}, frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\"d\"}]>"}
  ROOT size = s32[] get-dimension-size(d), dimensions={0}'

# twice_called NAME CALL: 40 computations, each of which calls the one before it twice, would become 2^40.
twice_called() {
  {
    printf 'HloModule twice\n\nc0 {\n  p = f32[8] parameter(0)\n  ROOT q = f32[8] sine(p)\n}\n\n'
    for i in $(seq 40); do
      printf 'c%d {\n  p = f32[8] parameter(0)\n  s = f32[1] slice(p), slice={[0:1]}\n  z = f32[1] constant({0})\n' "$i"
      printf '  l = pred[1] compare(s, z), direction=LT\n  w = pred[] reshape(l)\n  %s\n}\n\n' "${2//BEFORE/c$((i - 1))}"
    done
    printf 'ENTRY main {\n  p = f32[8] parameter(0)\n  ROOT q = f32[8] call(p), to_apply=c40\n}\n'
  } >"$work/twice.hlo"
  expect_exit "$1" 3 sh -c 'ulimit -v 8000000 && exec "$@"' sh "$hlorun" -n 4 --mesh d=4 --sharding in0=d --random-inputs \
    "$work/twice.hlo"
  expect_text "$1" "error: computations that are called several times are copied to be cut"
  expect_text "$1 have a place" "twice.hlo:"
}
if [ -z "$(sanitizer_flags)" ]; then
  twice_called "calls that double" 'a = f32[8] call(p), to_apply=BEFORE
  ROOT q = f32[8] call(a), to_apply=BEFORE'
  twice_called "branches that double" 'ROOT q = f32[8] conditional(w, p, p), true_computation=BEFORE, false_computation=BEFORE'
else
  skip "sanitizers need more addresses: calls that double"
fi

# What depends on data is whole on every process: its size, sums over it, branches that give it.
cat >"$work/dynamic.hlo" <<'PROGRAM'
HloModule dynamic

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

some {
  p = (f32[8], s32[]) parameter(0)
  x = f32[8] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  ROOT d = f32[<=8] set-dimension-size(x, n), dimensions={0}
}

few {
  p = (f32[8], s32[]) parameter(0)
  x = f32[8] get-tuple-element(p), index=0
  one = s32[] constant(1)
  ROOT d = f32[<=8] set-dimension-size(x, one), dimensions={0}
}

ENTRY main {
  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}
  n = s32[] parameter(1)
  zero = f32[] constant(0)
  three = s32[] constant(3)
  doubled = f32[8] add(x, x)
  pair = (f32[8], s32[]) tuple(doubled, n)
  is_large = pred[] compare(n, three), direction=GT
  d = f32[<=8] conditional(is_large, pair, pair), true_computation=some, false_computation=few
  sum = f32[] reduce(d, zero), dimensions={0}, to_apply=add
  size = s32[] get-dimension-size(d), dimensions={0}
  scale = f32[8] broadcast(sum), dimensions={}
  scaled = f32[8] multiply(x, scale)
  ROOT all = (f32[], s32[], f32[8]) tuple(sum, size, scaled)
}
PROGRAM
expect_exit "sizes that depend on data" 0 "$hlorun" -n 4 --input '0={1,2,3,4,5,6,7,8}' --input 1=5 "$work/dynamic.hlo"
expect_text "a sum over five" 'out0 = f32[] 30'
expect_text "the size" 'out1 = s32[] 5'
expect_text "what is cut beside it" '30, 60, 90, 120, 150, 180, 210, 240'

first=${TEST_PARTITION_SEEDS:-1} count=${TEST_PARTITION_COUNT:-25}
search() { # FIRST COUNT KINDS [--wild]: random programs
  python3 "$random/search_partition.py" --hlorun "$hlorun" --kinds "$3" "${@:4}" "$1" "$2" >"$work/out" 2>&1 && pass ||
    fail "random programs: $3 from $1 on ${*:4}" "$work/out"
  tail -n 1 "$work/out"
}
search "$first" "$count" patterns,exact,orders,sharded
search "$first" $(((count + 3) / 4)) manual
search "$first" $(((count + 3) / 4)) patterns,exact,orders,sharded --wild

# Seeds that failed once. The last: of equal bytes the last wins, and the initial value of a part took its place.
search 103 1 manual
search 110 1 manual
search 130 7 manual
search 2000215 1 orders
finish
