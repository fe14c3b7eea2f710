#!/usr/bin/env bash
# Programs that partitioners are known to get wrong, one for each trap: on a mesh, both engines, against one process of the
# reference engine.
set -u
. "$(dirname "$0")/common.sh"

# trap_of NAME PROCESSES INPUTS: the body of a main function on a mesh of 4 and 2, or of 3 with PROCESSES 3, from standard
# input; INPUTS are its arguments and results in MLIR.
trap_of() {
  local mesh='["d"=4, "m"=2]' engine
  [ "$2" -ne 3 ] || mesh='["d"=3]'
  {
    printf 'module @trap {\n  sdy.mesh @mesh = <%s>\n  func.func @main%s {\n' "$mesh" "$3"
    cat
    printf '  }\n}\n'
  } >"$work/trap.mlir"
  expect_exit "$1 on one process" 0 "$hlorun" -n 1 --engine reference --random-inputs=7 --quiet --output "$work/one.npz" \
    "$work/trap.mlir"
  for engine in compiled reference; do
    expect_exit "$1, $engine" 0 "$hlorun" -n "$2" --engine "$engine" --random-inputs=7 --quiet --expect "$work/one.npz" \
      "$work/trap.mlir"
  done
}
rows='sdy.sharding = #sdy.sharding<@mesh, [{"d"}]>'
rows2='sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>'
table='sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>'

# A loop's condition reads an array whose last parts are padding: all processes leave the loop in the same step.
trap_of "a condition over padding" 8 '(%x: tensor<10xf32>) -> (tensor<10xf32>, tensor<i32>)' <<'BODY'
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = sdy.sharding_constraint %x <@mesh, [{"d", "m"}]> : tensor<10xf32>
    %last:2 = stablehlo.while(%i = %zero, %v = %0) : tensor<i32>, tensor<10xf32>
    cond {
      %least = stablehlo.constant dense<0x7F800000> : tensor<f32>
      %a = stablehlo.abs %v : tensor<10xf32>
      %m = stablehlo.reduce(%a init: %least) applies stablehlo.minimum across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
      %some = stablehlo.constant dense<3.0> : tensor<f32>
      %low = stablehlo.compare LT, %m, %some : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %many = stablehlo.constant dense<40> : tensor<i32>
      %few = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %more = stablehlo.and %low, %few : tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %half = stablehlo.constant dense<1.5> : tensor<10xf32>
      %w = stablehlo.multiply %v, %half : tensor<10xf32>
      stablehlo.return %next, %w : tensor<i32>, tensor<10xf32>
    }
    return %last#1, %last#0 : tensor<10xf32>, tensor<i32>
BODY

# Padding that has become NaN or infinite reaches no sum, product, or largest element.
trap_of "padding that is no number" 8 '(%x: tensor<9x7xf32>, %w: tensor<7x5xf32>) -> (tensor<9x5xf32>, tensor<7xf32>, tensor<9xf32>, tensor<f32>)' <<'BODY'
    %0 = sdy.sharding_constraint %x <@mesh, [{"d"}, {"m"}]> : tensor<9x7xf32>
    %1 = stablehlo.abs %0 : tensor<9x7xf32>
    %one = stablehlo.constant dense<1.0> : tensor<9x7xf32>
    %2 = stablehlo.divide %one, %1 : tensor<9x7xf32>
    %3 = stablehlo.log %1 : tensor<9x7xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<9x7xf32>
    %5 = sdy.sharding_constraint %w <@mesh, [{"m"}, {"d"}]> : tensor<7x5xf32>
    %6 = stablehlo.dot_general %4, %5, contracting_dims = [1] x [0] : (tensor<9x7xf32>, tensor<7x5xf32>) -> tensor<9x5xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<9x7xf32>, tensor<f32>) -> tensor<7xf32>
    %8 = stablehlo.reduce(%2 init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<9x7xf32>, tensor<f32>) -> tensor<9xf32>
    %unit = stablehlo.constant dense<1.0> : tensor<f32>
    %9 = stablehlo.reduce(%1 init: %unit) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<9x7xf32>, tensor<f32>) -> tensor<f32>
    return %6, %7, %8, %9 : tensor<9x5xf32>, tensor<7xf32>, tensor<9xf32>, tensor<f32>
BODY

# Division of integers by padding does not trap.
trap_of "division by padding" 8 '(%x: tensor<11xi32>) -> (tensor<11xi32>, tensor<i32>)' <<'BODY'
    %0 = sdy.sharding_constraint %x <@mesh, [{"d", "m"}]> : tensor<11xi32>
    %two = stablehlo.constant dense<2> : tensor<11xi32>
    %one = stablehlo.constant dense<1> : tensor<11xi32>
    %1 = stablehlo.multiply %0, %two : tensor<11xi32>
    %2 = stablehlo.add %1, %one : tensor<11xi32>
    %big = stablehlo.constant dense<1000000> : tensor<11xi32>
    %3 = stablehlo.divide %big, %2 : tensor<11xi32>
    %4 = stablehlo.remainder %big, %2 : tensor<11xi32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.reduce(%4 init: %none) applies stablehlo.add across dimensions = [0] : (tensor<11xi32>, tensor<i32>) -> tensor<i32>
    return %3, %5 : tensor<11xi32>, tensor<i32>
BODY

# A slice of a padded array begins where the whole array's would, not where the part ends.
trap_of "starts at the end of a padded array" 3 '(%x: tensor<10x4xf32>) -> (tensor<4x4xf32>, tensor<10x4xf32>, tensor<3x4xf32>)' <<'BODY'
    %0 = sdy.sharding_constraint %x <@mesh, [{"d"}, {}]> : tensor<10x4xf32>
    %far = stablehlo.constant dense<9> : tensor<i64>
    %before = stablehlo.constant dense<-3> : tensor<i64>
    %1 = stablehlo.dynamic_slice %0, %far, %before, sizes = [4, 4] : (tensor<10x4xf32>, tensor<i64>, tensor<i64>) -> tensor<4x4xf32>
    %2 = stablehlo.dynamic_update_slice %0, %1, %far, %before : (tensor<10x4xf32>, tensor<4x4xf32>, tensor<i64>, tensor<i64>) -> tensor<10x4xf32>
    %3 = stablehlo.slice %0 [7:10, 0:4] : (tensor<10x4xf32>) -> tensor<3x4xf32>
    return %1, %2, %3 : tensor<4x4xf32>, tensor<10x4xf32>, tensor<3x4xf32>
BODY

# Indices without a sign, and larger than any signed one, are out of range, not negative.
trap_of "unsigned indices" 8 "(%x: tensor<16x4xf32> {$table}) -> (tensor<3x4xf32>, tensor<16x4xf32>, tensor<2x4xf32>)" <<'BODY'
    %i = stablehlo.constant dense<[[15], [4294967295], [2147483648]]> : tensor<3x1xui32>
    %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<16x4xf32>, tensor<3x1xui32>) -> tensor<3x4xf32>
    %1 = "stablehlo.scatter"(%x, %i, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<16x4xf32>, tensor<3x1xui32>, tensor<3x4xf32>) -> tensor<16x4xf32>
    %far = stablehlo.constant dense<4294967290> : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %2 = stablehlo.dynamic_slice %x, %far, %zero, sizes = [2, 4] : (tensor<16x4xf32>, tensor<ui32>, tensor<ui32>) -> tensor<2x4xf32>
    return %0, %1, %2 : tensor<3x4xf32>, tensor<16x4xf32>, tensor<2x4xf32>
BODY

# Of updates at one place the last one stays.
trap_of "updates at one place" 8 "(%x: tensor<16xf32> {$rows}, %u: tensor<24xf32> {$rows}) -> tensor<16xf32>" <<'BODY'
    %i = stablehlo.constant dense<[[3],[9],[3],[15],[0],[9],[3],[9],[1],[1],[0],[15],[7],[7],[7],[2],[20],[9],[3],[14],[13],[14],[-1],[2]]> : tensor<24x1xi32>
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<16xf32>, tensor<24x1xi32>, tensor<24xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
BODY

# The smaller place wins among equal elements of several parts, and NaN wins over all.
largest=$(cat <<'REGION'
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %gt = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %nan = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %first = stablehlo.or %gt, %nan : tensor<i1>
      %eq = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %lt = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %tie = stablehlo.and %eq, %lt : tensor<i1>
      %place = stablehlo.or %first, %tie : tensor<i1>
      %v = stablehlo.select %first, %a, %b : tensor<i1>, tensor<f32>
      %w = stablehlo.select %place, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<f32>, tensor<i32>
    }
REGION
)
trap_of "equal elements of several parts" 8 "(%x: tensor<8x16xf32> {$table}) -> (tensor<8xi32>, tensor<16xi32>)" <<BODY
    %0 = stablehlo.sign %x : tensor<8x16xf32>
    %1 = stablehlo.sqrt %0 : tensor<8x16xf32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %i = stablehlo.iota dim = 1 : tensor<8x16xi32>
    %j = stablehlo.iota dim = 0 : tensor<8x16xi32>
    %2:2 = stablehlo.reduce(%0 init: %low), (%i init: %none) across dimensions = [1] : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
$largest
    %3:2 = stablehlo.reduce(%1 init: %low), (%j init: %none) across dimensions = [0] : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<16xf32>, tensor<16xi32>)
$largest
    return %2#1, %3#1 : tensor<8xi32>, tensor<16xi32>
BODY

# Constraints on scalars of a reduction's region say nothing.
trap_of "a constraint in a region" 8 "(%x: tensor<8x16xf32> {$table}) -> tensor<16xf32>" <<'BODY'
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
     reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = stablehlo.add %a, %b : tensor<f32>
      %c = sdy.sharding_constraint %s <@mesh, []> : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }
    return %0 : tensor<16xf32>
BODY

# A pad that takes away in front what it adds after keeps the size, and moves everything.
trap_of "a pad of the same size" 8 "(%x: tensor<8x16xf32> {$table}) -> (tensor<8x16xf32> {$table})" <<'BODY'
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = stablehlo.pad %x, %one, low = [-3, 2], high = [3, -2], interior = [0, 0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
BODY

# Dimensions of 1 and 0, small and complex types, scalars and many values of a barrier, each with a sharding of its own.
trap_of "dimensions of 1 and 0" 8 "(%x: tensor<1x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\"}]>}, %e: tensor<0x16xf32>) -> (tensor<8x16xf32>, tensor<16x1x1xf32>, tensor<16xf32>)" <<'BODY'
    %0 = stablehlo.reshape %x : (tensor<1x16xf32>) -> tensor<16xf32>
    %1 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"m"}, {"d"}]> : tensor<8x16xf32>
    %3 = stablehlo.reshape %0 : (tensor<16xf32>) -> tensor<16x1x1xf32>
    %zero = stablehlo.constant dense<2.0> : tensor<f32>
    %4 = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<0x16xf32>, tensor<f32>) -> tensor<16xf32>
    %5 = stablehlo.add %4, %0 : tensor<16xf32>
    return %2, %3, %5 : tensor<8x16xf32>, tensor<16x1x1xf32>, tensor<16xf32>
BODY
trap_of "small and complex types" 8 "(%x: tensor<16x4xi4> {$table}, %z: tensor<16x4xcomplex<f32>> {$table}) -> (tensor<4xi4>, tensor<4x16xi4>, tensor<4xcomplex<f32>>, tensor<16x4xcomplex<f32>>)" <<'BODY'
    %n = stablehlo.constant dense<0> : tensor<i4>
    %0 = stablehlo.reduce(%x init: %n) applies stablehlo.add across dimensions = [0] : (tensor<16x4xi4>, tensor<i4>) -> tensor<4xi4>
    %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<16x4xi4>) -> tensor<4x16xi4>
    %c = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
    %2 = stablehlo.reduce(%z init: %c) applies stablehlo.add across dimensions = [0] : (tensor<16x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
    %3 = stablehlo.reverse %z, dims = [0] : tensor<16x4xcomplex<f32>>
    return %0, %1, %2, %3 : tensor<4xi4>, tensor<4x16xi4>, tensor<4xcomplex<f32>>, tensor<16x4xcomplex<f32>>
BODY
trap_of "values of a barrier" 8 "(%x: tensor<16x4xf32> {$table}, %y: tensor<8xi32> {$rows}, %s: tensor<f32>) -> (tensor<4x16xf32> {$table}, tensor<8xi32>, tensor<f32>)" <<'BODY'
    %0:3 = stablehlo.optimization_barrier %x, %y, %s : tensor<16x4xf32>, tensor<8xi32>, tensor<f32>
    %1 = stablehlo.transpose %0#0, dims = [1, 0] : (tensor<16x4xf32>) -> tensor<4x16xf32>
    %2 = stablehlo.reverse %0#1, dims = [0] : tensor<8xi32>
    return %1, %2, %0#2 : tensor<4x16xf32>, tensor<8xi32>, tensor<f32>
BODY

# Random bits are those of one process, and the state that goes on, too.
trap_of "random bits in parts" 8 "(%k: tensor<2xui64>) -> (tensor<2xui64>, tensor<16x6xui32> {$table}, tensor<9xui32>)" <<'BODY'
    %0, %1 = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<16x6xui32>)
    %2, %3 = stablehlo.rng_bit_generator %0, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<9xui32>)
    %4 = sdy.sharding_constraint %3 <@mesh, [{"d"}]> : tensor<9xui32>
    return %2, %1, %4 : tensor<2xui64>, tensor<16x6xui32>, tensor<9xui32>
BODY

# A whole and a cut operand of a concatenation come once each.
trap_of "a concatenation of whole and cut" 8 "(%x: tensor<8x4xf32> {$rows2}, %y: tensor<8x4xf32>) -> tensor<24x4xf32>" <<'BODY'
    %0 = stablehlo.concatenate %x, %y, %x, dim = 0 : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<24x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"d"}, {}]> : tensor<24x4xf32>
    return %1 : tensor<24x4xf32>
BODY

# An initial value that is not neutral counts once, not once for each part.
trap_of "an initial value" 8 "(%x: tensor<16x4xf32> {$table}) -> (tensor<4xf32>, tensor<f32>, tensor<16x4xf32>)" <<'BODY'
    %five = stablehlo.constant dense<5.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %five) applies stablehlo.add across dimensions = [0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.reduce(%x init: %five) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.reduce_window"(%x, %five) <{window_dimensions = array<i64: 3, 1>, padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
    return %0, %1, %2 : tensor<4xf32>, tensor<f32>, tensor<16x4xf32>
BODY
finish
