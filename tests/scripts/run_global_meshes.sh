#!/usr/bin/env bash
# Global programs: meshes and shardings that are refused, with a place; meshes that interleave, and manual computations on
# them.
set -u
. "$(dirname "$0")/common.sh"

# Refused: with the numbers, and a place where there is one.
# annotate SHARDING: the program with this sharding of its first argument.
annotate() {
  printf 'module @m {\n  sdy.mesh @mesh = <["a"=2, "b"=2]>\n  func.func @main(%%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<%s>}) -> tensor<8x6xf32> {\n    %%0 = stablehlo.tanh %%x : tensor<8x6xf32>\n    return %%0 : tensor<8x6xf32>\n  }\n}\n' "$1" >"$work/bad.mlir"
}
while IFS='|' read -r sharding message; do
  annotate "$sharding"
  expect_exit "$sharding" 3 "$hlorun" -n 4 --random-inputs "$work/bad.mlir"
  expect_text "$sharding" "$message"
  expect_text "$sharding has a place" 'bad.mlir:3:'
done <<'CASES'
@mesh, [{"c"}, {}]|the mesh has no axis "c", want one of ["a"=2, "b"=2]
@other, [{"a"}, {}]|there is no mesh @other; the program has @mesh
@mesh, [{"a"}, {"a"}]|axis "a" is used twice
@mesh, [{"a"}]|a sharding of 1 dimension for a value of rank 2
@mesh, [{"a":(1)3}, {}]|sub-axis (1)3 of axis "a", want one of at least 2 that divides 2
@mesh, [{"a":(1)2}, {}]|sub-axis (1)2 is all of axis "a", want the name alone
@mesh, [{"a"}, {}p1]|dimension 1 has a priority, but is closed and has no axes
@mesh, [{a}, {}]|the sharding has "a}, {}]"
@mesh, [{"a", "a"}, {}]|axis "a" is used twice
@mesh, [{"a"}, {}], replicated={"a"}|axis "a" is used twice
CASES
annotate '@mesh, [{"a"}, {"b"}]'
expect_exit "a sharding as a proto" 0 "$hlorun" convert --to pb --output "$work/good.pb" "$work/bad.mlir"
LC_ALL=C sed 's/{"b"}\]>/{"a"}]>/' "$work/good.pb" >"$work/bad.pb"
expect_exit "a bad sharding in a proto" 3 "$hlorun" -n 4 --random-inputs "$work/bad.pb"
expect_text "a bad sharding in a proto" 'axis "a" is used twice'

# Collectives of sdy: a list for each dimension, moves between two dimensions that exist.
while IFS='|' read -r collective message; do
  printf 'module @m {\n  sdy.mesh @mesh = <["a"=2, "b"=2]>\n  func.func @main(%%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<8x6xf32> {\n    %%0 = sdy.%s out_sharding=<@mesh, [{}, {"a"}]> : tensor<8x6xf32>\n    return %%0 : tensor<8x6xf32>\n  }\n}\n' "$collective" >"$work/bad.mlir"
  expect_exit "$collective" 3 "$hlorun" -n 4 --random-inputs "$work/bad.mlir"
  expect_text "$collective" "$message"
  expect_text "$collective has a place" 'bad.mlir:4:'
done <<'CASES'
all_gather [{}, {"a"}, {}] %x|3 lists of axes for a value of rank 2
all_slice [{}] %x|1 list of axes for a value of rank 2
reduce_scatter [{}, {}, {"b"}] %x|3 lists of axes for a value of rank 2
all_to_all [{"a"}: 0->5] %x|target dimension 5, want 0 to 1
all_to_all [{"a"}: 1->1] %x|dimension 1 is moved from or to twice
CASES

# border LOCAL IN: a manual computation over "a" whose body has arrays of this shape; global() is refused with a place.
border() {
  cat >"$work/bad.mlir" <<PROGRAM
module @m {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, $2>] out_shardings=[<@mesh, $2>] manual_axes={"a"} (%p: tensor<$1xf32>) {
      %r = stablehlo.negate %p : tensor<$1xf32>
      sdy.return %r : tensor<$1xf32>
    } : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
}
PROGRAM
  expect_exit "a body of $1 for $2" 3 "$hlorun" -n 4 --random-inputs "$work/bad.mlir"
  expect_text "a body of $1 has a place" 'bad.mlir:4:'
}
border 2x6 '[{"a"}, {}]'
expect_text "a body of 2x6" "the body's value has sizes [2x6], want [4x6] by its sharding"
border 4x6 '[{"b", "a"}, {}]'
expect_text "a free axis before a manual one" 'manual axis "a" comes after axis "b" in dimension 0, want manual axes first'

# Meshes: places of bad ones; two that interleave, and device lists in any order, give what one process gives.
sed 's/"b"=2/"b"=0/' "$work/bad.mlir" >"$work/zero.mlir"
expect_exit "an axis of size 0" 3 "$hlorun" -n 4 --random-inputs "$work/zero.mlir"
expect_text "an axis of size 0" 'zero.mlir:2:30: error: sdy.mesh: mesh axis "b" has size 0'
cat >"$work/interleaved.mlir" <<'PROGRAM'
module @m {
  sdy.mesh @a = <["x"=2, "y"=3]>
  sdy.mesh @b = <["p"=3, "q"=2]>
  func.func @main(%x: tensor<6x12xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}, {"y"}]>},
                  %w: tensor<12x6xf32> {sdy.sharding = #sdy.sharding<@b, [{"p"}, {"q"}]>})
      -> (tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@b, [{"q"}, {"p"}]>}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x12xf32>, tensor<12x6xf32>) -> tensor<6x6xf32>
    %1 = sdy.sharding_constraint %0 <@b, [{"p"}, {"q"}]> : tensor<6x6xf32>
    return %1 : tensor<6x6xf32>
  }
}
PROGRAM
cat >"$work/lists.hlo" <<'PROGRAM'
HloModule lists, num_partitions=8

ENTRY main {
  a = f32[8,16] parameter(0), sharding={devices=[4,2]3,1,0,2,7,5,6,4}
  b = f32[16,8] parameter(1), sharding={devices=[2,1,4]3,1,0,2,7,5,6,4 last_tile_dim_replicate}
  d = f32[8,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[8,8] custom-call(d), custom_call_target="Sharding", sharding={devices=[8,1]0,2,1,3,5,4,6,7}
  ROOT r = f32[8,8] reverse(c), dimensions={0}, sharding={devices=[4,2]<=[2,4]T(1,0)}
}
PROGRAM
for run in 'interleaved.mlir 6' 'interleaved.mlir 3' 'interleaved.mlir 2' 'lists.hlo 8' 'lists.hlo 4'; do
  read -r file processes <<<"$run"
  expect_exit "$file on 1" 0 "$hlorun" -n 1 --random-inputs --quiet --output "$work/one.npz" "$work/$file"
  expect_exit "$file on $processes" 0 "$hlorun" -n "$processes" --random-inputs --quiet --expect "$work/one.npz" "$work/$file"
done

# A manual computation on a mesh of another order: collectives inside name devices as its own mesh counts them. A mesh that
# no sharding uses may have any size; one that is used may not.
cat >"$work/manual.mlir" <<'PROGRAM'
module @m {
  sdy.mesh @a = <["x"=2, "y"=3], device_ids=[4, 1, 0, 2, 5, 3]>
  sdy.mesh @b = <["p"=3, "q"=2]>
  sdy.mesh @c = <["u"=4]>
  func.func @main(%x: tensor<6x12xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}, {"y"}]>}) -> (tensor<6x12xf32> {sdy.sharding = #sdy.sharding<@a, [{"y"}, {"x"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@b, [{"p"}, {}]>] out_shardings=[<@b, [{"p"}, {}]>] manual_axes={"p"} (%p: tensor<2x12xf32>) {
      %1 = sdy.sharding_constraint %p <@b, [{}, {"q"}]> : tensor<2x12xf32>
      %2 = "stablehlo.collective_permute"(%1) {source_target_pairs = dense<[[0,2],[1,3],[2,4],[3,5],[4,0],[5,1]]> : tensor<6x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2x12xf32>) -> tensor<2x12xf32>
      %3 = stablehlo.reverse %2, dims = [1] : tensor<2x12xf32>
      sdy.return %3 : tensor<2x12xf32>
    } : (tensor<6x12xf32>) -> tensor<6x12xf32>
    return %0 : tensor<6x12xf32>
  }
}
PROGRAM
cat >"$work/moved.mlir" <<'PROGRAM'
module @w {
  func.func @main(%x: tensor<6x12xf32>) -> tensor<6x12xf32> {
    %a = stablehlo.slice %x [0:4, 0:12] : (tensor<6x12xf32>) -> tensor<4x12xf32>
    %b = stablehlo.slice %x [4:6, 0:12] : (tensor<6x12xf32>) -> tensor<2x12xf32>
    %c = stablehlo.concatenate %b, %a, dim=0 : (tensor<2x12xf32>, tensor<4x12xf32>) -> tensor<6x12xf32>
    %2 = stablehlo.reverse %c, dims = [1] : tensor<6x12xf32>
    return %2 : tensor<6x12xf32>
  }
}
PROGRAM
expect_exit "what the manual computation means" 0 "$hlorun" -n 1 --random-inputs --quiet --output "$work/one.npz" \
  "$work/moved.mlir"
for engine in compiled reference; do
  expect_exit "a manual computation on another mesh, $engine" 0 "$hlorun" -n 6 --engine $engine --random-inputs --quiet \
    --expect "$work/one.npz" "$work/manual.mlir"
done
sed 's/<@a, \[{"y"}, {"x"}\]>/<@c, [{"u"}, {}]>/' "$work/manual.mlir" >"$work/sizes.mlir"
expect_exit "meshes of two sizes" 3 "$hlorun" -n 6 --random-inputs "$work/sizes.mlir"
expect_text "meshes of two sizes" 'meshes of 6 (@b) and 4 (@c) devices in one program'
# GSPMD strings: grids of tiles have sizes for names; a list of shardings is not for one array.
strings() {
  printf 'module @m {\n  func.func @main(%%x: tensor<8x6xf32> {mhlo.sharding = "%s"}, %%y: tensor<8x6xf32> {mhlo.sharding = "%s"}) -> tensor<8x6xf32> {\n    %%0 = stablehlo.add %%x, %%y : tensor<8x6xf32>\n    return %%0 : tensor<8x6xf32>\n  }\n}\n' "$1" "$2" >"$work/bad.mlir"
  expect_exit "$1 and $2" 3 "$hlorun" -n 8 --random-inputs "$work/bad.mlir"
}
strings '{devices=[8,1]<=[8]}' '{devices=[2,2]<=[4]}'
expect_text "grids of two sizes" 'meshes of 8 (8 x 1) and 4 (2 x 2) devices in one program'
strings '{devices=[8,1]<=[8]}' '{{replicated}, {replicated}}'
expect_text "two shardings" 'bad.mlir:2:3: error: parameter of %parameter.1: 2 shardings for 1 value'
# Annotations that cut nothing: the program runs on any number of processes, and its results are whole.
cat >"$work/whole.mlir" <<'PROGRAM'
module @whole attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=8]>
  func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
PROGRAM
sed -e '/sdy.mesh/d' -e 's/{sdy.sharding.*\]>}/{mhlo.sharding = "{replicated}"}/' "$work/whole.mlir" >"$work/gspmd.mlir"
for program in whole gspmd; do
  for n in 1 3 8; do
    expect_exit "$program on $n" 0 "$hlorun" -n "$n" --input '0=f32[4]{1,2,3,4}' "$work/$program.mlir"
    if [ "$(cat "$work/out")" = "out0 = f32[4] {2, 4, 6, 8}" ]; then pass; else fail "$program on $n: one result" "$work/out"; fi
  done
done
finish
