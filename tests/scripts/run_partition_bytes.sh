#!/usr/bin/env bash
# The partitioner: how many bytes small programs send on a mesh of 4 and 2, and the memory of planning.
set -u
. "$(dirname "$0")/common.sh"

command -v python3 >/dev/null || { skip "python3 is not there"; finish; }

# sends NAME TEXT SHARDING: what partitions of $work/few.mlir on a mesh of 4 and 2 send, and what they give.
sends() {
  local cuts=(-n 8 --mesh d=4,m=2 --sharding "$3")
  expect_exit "$1 is explained" 0 "$hlorun" "${cuts[@]}" --explain-sharding "$work/few.mlir"
  expect_text "$1 is explained" "$2"
  expect_exit "$1 on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/few.mlir"
  expect_exit "$1 on eight" 0 "$hlorun" "${cuts[@]}" --random-inputs --expect "$work/one.npz" "$work/few.mlir"
}

# Indices that count along the rows take from each row what is in it: nothing moves. Labels choose within a row.
cat >"$work/few.mlir" <<'PROGRAM'
module @labels {
  func.func @main(%x: tensor<16x10xf32>, %label: tensor<16xi32>, %u: tensor<16xf32>) -> (tensor<16xf32>, tensor<16x10xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<16xi32>
    %zero = stablehlo.constant dense<0> : tensor<16xi32>
    %size = stablehlo.constant dense<16> : tensor<16xi32>
    %1 = stablehlo.compare LT, %0, %zero : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %2 = stablehlo.add %0, %size : tensor<16xi32>
    %3 = stablehlo.select %1, %2, %0 : tensor<16xi1>, tensor<16xi32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
    %5 = stablehlo.reshape %label : (tensor<16xi32>) -> tensor<16x1xi32>
    %6 = stablehlo.concatenate %4, %5, dim = 1 : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x2xi32>
    %7 = "stablehlo.gather"(%x, %6) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<16x10xf32>, tensor<16x2xi32>) -> tensor<16xf32>
    %8 = "stablehlo.scatter"(%x, %6, %u) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>} : (tensor<16x10xf32>, tensor<16x2xi32>, tensor<16xf32>) -> tensor<16x10xf32>
    return %7, %8 : tensor<16xf32>, tensor<16x10xf32>
  }
}
PROGRAM
sends "labels of rows" "0 collectives" 'in0=d;in1=d;in2=d;out0=d;out1=d'
sends "labels of rows that are cut" "1 collective, by which a process sends 16 bytes" 'in0=d,m;in1=d;in2=d;out0=d;out1=d,m'
# Rows in the reverse order are none of these.
sed 's/%6 = stablehlo.concatenate %4/%back = stablehlo.reverse %4, dims = [0] : tensor<16x1xi32>\
    %6 = stablehlo.concatenate %back/' "$work/few.mlir" >"$work/back.mlir"
mv "$work/back.mlir" "$work/few.mlir"
sends "labels of other rows" "process sends" 'in0=d;in1=d;in2=d;out0=d;out1=d'
cat >"$work/few.mlir" <<'PROGRAM'
module @diagonal {
  func.func @main(%x: tensor<16x16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<16x2xi32>
    %1 = "stablehlo.gather"(%x, %0) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<16x16xf32>, tensor<16x2xi32>) -> tensor<16xf32>
    return %1 : tensor<16xf32>
  }
}
PROGRAM
sends "a diagonal by rows" "0 collectives" 'in0=d;out0=d'
sends "a diagonal by columns" "0 collectives" 'in0=-,m;out0=m'

# Matrices whose rows are cut are gathered, not moved to other processes and back, where the result is cut by batches alone.
cat >"$work/few.mlir" <<'PROGRAM'
module @factors {
  func.func @main(%x: tensor<16x8x8xf32>) -> tensor<16x8x8xf32> {
    %scale = stablehlo.constant dense<0.001> : tensor<16x8x8xf32>
    %0 = stablehlo.multiply %x, %scale : tensor<16x8x8xf32>
    %1 = stablehlo.iota dim = 1 : tensor<16x8x8xf32>
    %2 = stablehlo.iota dim = 2 : tensor<16x8x8xf32>
    %3 = stablehlo.compare EQ, %1, %2 : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xi1>
    %4 = stablehlo.convert %3 : (tensor<16x8x8xi1>) -> tensor<16x8x8xf32>
    %5 = stablehlo.add %0, %4 : tensor<16x8x8xf32>
    %6 = stablehlo.cholesky %5, lower = true : tensor<16x8x8xf32>
    %7 = stablehlo.negate %6 : tensor<16x8x8xf32>
    return %7 : tensor<16x8x8xf32>
  }
}
PROGRAM
sends "batched factors" "1 collective, by which a process sends 512 bytes" 'in0=d,m;out0=d'

# A product of such matrices is computed by batches already: its operands move, not the gathered operand and the result.
cat >"$work/few.mlir" <<'PROGRAM'
module @product {
  func.func @main(%x: tensor<16x8x8xf32>, %y: tensor<16x8x8xf32>) -> tensor<16x8x8xf32> {
    %scale = stablehlo.constant dense<0.01> : tensor<16x8x8xf32>
    %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
    %1 = stablehlo.multiply %0, %scale : tensor<16x8x8xf32>
    %2 = "stablehlo.triangular_solve"(%1, %1) {left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
    return %2 : tensor<16x8x8xf32>
  }
}
PROGRAM
sends "factors of products" "2 collectives, by which a process sends 1536 bytes" 'in0=-,d;in1=-,d;out0=d'

# An array that slices take apart moves once for all of them.
cat >"$work/few.mlir" <<'PROGRAM'
module @pieces {
  func.func @main(%x: tensor<32x8xf32>) -> tensor<32x8xf32> {
    %0 = stablehlo.slice %x [0:5, 0:8] : (tensor<32x8xf32>) -> tensor<5x8xf32>
    %1 = stablehlo.slice %x [5:13, 0:8] : (tensor<32x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.slice %x [13:32, 0:8] : (tensor<32x8xf32>) -> tensor<19x8xf32>
    %two = stablehlo.constant dense<2.0> : tensor<5x8xf32>
    %three = stablehlo.constant dense<3.0> : tensor<8x8xf32>
    %3 = stablehlo.multiply %0, %two : tensor<5x8xf32>
    %4 = stablehlo.multiply %1, %three : tensor<8x8xf32>
    %5 = stablehlo.concatenate %3, %4, %2, dim = 0 : (tensor<5x8xf32>, tensor<8x8xf32>, tensor<19x8xf32>) -> tensor<32x8xf32>
    return %5 : tensor<32x8xf32>
  }
}
PROGRAM
sends "pieces of an array" "1 collective, by which a process sends 256 bytes" 'in0=m;out0=-,m'

# Two gathers of all rows: the array is gathered once for both, where each could sum up what its parts have for as much.
cat >"$work/few.mlir" <<'PROGRAM'
module @twice {
  func.func @main(%x: tensor<64x16xf32>, %i: tensor<64x1xi32>) -> (tensor<64x16xf32>, tensor<64x16xf32>) {
    %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>} : (tensor<64x16xf32>, tensor<64x1xi32>) -> tensor<64x16xf32>
    %1 = stablehlo.negate %i : tensor<64x1xi32>
    %2 = "stablehlo.gather"(%x, %1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>} : (tensor<64x16xf32>, tensor<64x1xi32>) -> tensor<64x16xf32>
    return %0, %2 : tensor<64x16xf32>, tensor<64x16xf32>
  }
}
PROGRAM
sends "two gathers" "1 collective, by which a process sends 3072 bytes" 'in0=d;in1=d;out0=d;out1=d'

# An operand that a later product takes whole is gathered for both, instead of being moved otherwise for the first.
cat >"$work/few.mlir" <<'PROGRAM'
module @gram {
  func.func @main(%x: tensor<12x24xf32>, %y: tensor<24x24xf32>) -> (tensor<24x24xf32>, tensor<12x24xf32>) {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<12x24xf32>, tensor<24x24xf32>) -> tensor<12x24xf32>
    %1 = stablehlo.dot_general %0, %x, contracting_dims = [0] x [0] : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<24x24xf32>
    return %1, %0 : tensor<24x24xf32>, tensor<12x24xf32>
  }
}
PROGRAM
sends "a product with its operand" "2 collectives, by which a process sends 1296 bytes" 'in0=d;in1=d;out0=d;out1=-,d'

cat >"$work/few.mlir" <<'PROGRAM'
module @products {
  func.func @main(%x: tensor<16x24xf32>, %y: tensor<24x16xf32>, %z: tensor<16x24xf32>) -> tensor<16xf32> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x24xf32>, tensor<24x16xf32>) -> tensor<16x16xf32>
    %1 = stablehlo.dot_general %x, %z, contracting_dims = [1] x [1] : (tensor<16x24xf32>, tensor<16x24xf32>) -> tensor<16x16xf32>
    %2 = stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32>
    return %2 : tensor<16xf32>
  }
}
PROGRAM
sends "two products of one array" "3 collectives, by which a process sends 1024 bytes" 'in0=-,m;in1=d,m;in2=m+d'

# Stencils over arrays that are padded by their own elements: a permute for each neighbour, not the padded array's parts,
# which are larger than the array's. $1, $2: what comes first and last; $3, $4: rows of the last and of all
stencil() {
  cat >"$work/few.mlir" <<PROGRAM
module @stencil {
  func.func @main(%x: tensor<32x8xf32>) -> tensor<32x8xf32> {
    %first = stablehlo.slice %x [0:1, 0:8] : (tensor<32x8xf32>) -> tensor<1x8xf32>
    %last = stablehlo.slice %x [31:32, 0:8] : (tensor<32x8xf32>) -> tensor<1x8xf32>
    %twice = stablehlo.broadcast_in_dim %last, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x2x8xf32>
    %repeated = stablehlo.reshape %twice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %two = stablehlo.slice %x [30:32, 0:8] : (tensor<32x8xf32>) -> tensor<2x8xf32>
    %turned = stablehlo.reverse %two, dims = [0] : tensor<2x8xf32>
    %0 = stablehlo.concatenate $1, %x, dim = 0 : (tensor<1x8xf32>, tensor<32x8xf32>) -> tensor<33x8xf32>
    %1 = stablehlo.concatenate %0, $2, dim = 0 : (tensor<33x8xf32>, tensor<$3x8xf32>) -> tensor<$4x8xf32>
    %left = stablehlo.slice %1 [0:$4, 7:8] : (tensor<$4x8xf32>) -> tensor<$4x1xf32>
    %right = stablehlo.slice %1 [0:$4, 0:1] : (tensor<$4x8xf32>) -> tensor<$4x1xf32>
    %2 = stablehlo.concatenate %left, %1, %right, dim = 1 : (tensor<$4x1xf32>, tensor<$4x8xf32>, tensor<$4x1xf32>) -> tensor<$4x10xf32>
    %3 = stablehlo.slice %2 [0:32, 1:9] : (tensor<$4x10xf32>) -> tensor<32x8xf32>
    %4 = stablehlo.slice %2 [2:34, 1:9] : (tensor<$4x10xf32>) -> tensor<32x8xf32>
    %5 = stablehlo.slice %2 [1:33, 0:8] : (tensor<$4x10xf32>) -> tensor<32x8xf32>
    %6 = stablehlo.slice %2 [1:33, 2:10] : (tensor<$4x10xf32>) -> tensor<32x8xf32>
    %7 = stablehlo.add %3, %4 : tensor<32x8xf32>
    %8 = stablehlo.add %5, %6 : tensor<32x8xf32>
    %9 = stablehlo.subtract %7, %8 : tensor<32x8xf32>
    return %9 : tensor<32x8xf32>
  }
}
PROGRAM
}
stencil %last %first 1 34
sends "a periodic stencil" "2 collectives, by which a process sends 64 bytes" 'in0=d;out0=d'
stencil %first %repeated 2 35
sends "a stencil with repeated ends" "2 collectives, by which a process sends 48 bytes" 'in0=d;out0=d'
stencil %first %turned 2 35
sends "a stencil with mirrored ends" "2 collectives, by which a process sends 48 bytes" 'in0=d;out0=d'

# Two dimensions are reversed by one permute, of what is left of them where only one was cut. $1: their sizes
reversal() {
  cat >"$work/few.mlir" <<PROGRAM
module @reversed {
  func.func @main(%x: tensor<$1xf32>) -> tensor<$1xf32> {
    %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<$1xf32>
    return %0 : tensor<$1xf32>
  }
}
PROGRAM
}
reversal 16x8
sends "reversal" "1 collective, by which a process sends 64 bytes" 'in0=d,m;out0=d,m'
reversal 32x16
sends "reversed dimensions" "1 collective, by which a process sends 256 bytes" 'in0=d;out0=d,m'

# A permute of what was permuted and then transposed is one; what it would take alone does not make it a gather.
cat >"$work/few.mlir" <<'PROGRAM'
module @turned {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.reverse %x, dims = [1] : tensor<8x8xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
PROGRAM
sends "a turn" "2 collectives, by which a process sends 48 bytes" 'in0=d,m;out0=d,m'
cat >"$work/few.mlir" <<'PROGRAM'
module @turned {
  func.func @main(%x: tensor<16x8xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<16x8xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
}
PROGRAM
sends "a turn of two dimensions" "2 collectives, by which a process sends 96 bytes" 'in0=d,m;out0=d,m'

cat >"$work/few.mlir" <<'PROGRAM'
module @turned {
  func.func @main(%x: tensor<16x8xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<16x8xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %2 = stablehlo.constant dense<2.0> : tensor<8x16xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<8x16xf32>
    return %3 : tensor<8x16xf32>
  }
}
PROGRAM
sends "a turn and a product" "2 collectives, by which a process sends 96 bytes" 'in0=d,m;out0=d,m'

# Rows that are repeated as a block go where they are needed: a permute and a gather of half of them.
cat >"$work/few.mlir" <<'PROGRAM'
module @tiled {
  func.func @main(%x: tensor<16x4xf32>) -> tensor<32x4xf32> {
    %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<16x4xf32>) -> tensor<2x16x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x16x4xf32>) -> tensor<32x4xf32>
    return %1 : tensor<32x4xf32>
  }
}
PROGRAM
sends "a tile" "2 collectives, by which a process sends 96 bytes" 'in0=d;out0=d'

# Of an array that is repeated, the array is gathered and not what repeats it.
cat >"$work/few.mlir" <<'PROGRAM'
module @tiled {
  func.func @main(%x: tensor<24x12xf32>) -> tensor<48x36xf32> {
    %0 = stablehlo.broadcast_in_dim %x, dims = [1, 3] : (tensor<24x12xf32>) -> tensor<2x24x3x12xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x24x3x12xf32>) -> tensor<48x36xf32>
    return %1 : tensor<48x36xf32>
  }
}
PROGRAM
sends "a tile of both dimensions" "by which a process sends 1008 bytes" 'in0=d,m'

# What is padded and cut off again in two dimensions is not fetched.
cat >"$work/few.mlir" <<'PROGRAM'
module @shifted {
  func.func @main(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %x, %zero, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<18x10xf32>
    %1 = stablehlo.slice %0 [2:18, 2:10] : (tensor<18x10xf32>) -> tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  }
}
PROGRAM
sends "shift" "2 collectives, by which a process sends 20 bytes" 'in0=d,m;out0=d,m'

# Reshapes that lead back, and copies of tuples, move nothing.
cat >"$work/few.mlir" <<'PROGRAM'
module @back {
  func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
    %0 = stablehlo.reshape %x : (tensor<6x8xf32>) -> tensor<48xf32>
    %1 = stablehlo.reshape %0 : (tensor<48xf32>) -> tensor<6x8xf32>
    %2 = stablehlo.negate %1 : tensor<6x8xf32>
    return %2 : tensor<6x8xf32>
  }
}
PROGRAM
sends "reshapes" "0 collectives" 'in0=-,d;out0=-,d'
cat >"$work/few.mlir" <<'PROGRAM'
HloModule copied

ENTRY main {
  x = f32[8,6] parameter(0)
  y = f32[8,6] negate(x)
  t = (f32[8,6], f32[8,6]) tuple(x, y)
  c = (f32[8,6], f32[8,6]) copy(t)
  a = f32[8,6] get-tuple-element(c), index=0
  b = f32[8,6] get-tuple-element(c), index=1
  ROOT r = f32[8,6] multiply(a, b)
}
PROGRAM
sends "a copied tuple" "0 collectives" 'in0=d;out0=d'

# Operands without elements change nothing of a concatenation.
cat >"$work/few.mlir" <<'PROGRAM'
module @empty {
  func.func @main(%x: tensor<16x6xf32>) -> (tensor<16x6xf32>, tensor<32x6xf32>) {
    %0 = stablehlo.slice %x [0:0, 0:6] : (tensor<16x6xf32>) -> tensor<0x6xf32>
    %1 = stablehlo.concatenate %0, %x, dim = 0 : (tensor<0x6xf32>, tensor<16x6xf32>) -> tensor<16x6xf32>
    %2 = stablehlo.concatenate %x, %0, %1, dim = 0 : (tensor<16x6xf32>, tensor<0x6xf32>, tensor<16x6xf32>) -> tensor<32x6xf32>
    return %1, %2 : tensor<16x6xf32>, tensor<32x6xf32>
  }
}
PROGRAM
sends "a concatenation of one array" "0 collectives" 'in0=-,m'
sed -i 's/%1, %2 :.*/%1, %1 : tensor<16x6xf32>, tensor<16x6xf32>/; s/tensor<32x6xf32>) {/tensor<16x6xf32>) {/' "$work/few.mlir"
sends "a concatenation of one array by rows" "0 collectives" 'in0=d'

# Arrays of a tuple that is laid out anew by a call's caller are cut one by one.
cat >"$work/few.mlir" <<'PROGRAM'
HloModule laid

f {
  x = f32[8,6]{1,0} parameter(0)
  c = f32[8,6]{0,1} copy(x)
  ROOT t = (f32[8,6]{0,1}, f32[8,6]{1,0}) tuple(c, x)
}

ENTRY main {
  x = f32[8,6] parameter(0)
  t = (f32[8,6]{1,0}, f32[8,6]{1,0}) call(x), to_apply=f
  a = f32[8,6] get-tuple-element(t), index=0
  b = f32[8,6] get-tuple-element(t), index=1
  ROOT r = f32[8,6] multiply(a, b)
}
PROGRAM
sends "a tuple laid out anew" "0 collectives" 'in0=d'

# Holes between the elements of a dilated window are not sent.
cat >"$work/few.mlir" <<'PROGRAM'
HloModule spread

ENTRY main {
  x = f32[1,8,8,1] parameter(0)
  w = f32[3,3,1,1] parameter(1)
  ROOT r = f32[1,16,16,1] convolution(x, w), window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f
}
PROGRAM
sends "a dilated convolution" "2 collectives, by which a process sends 18 bytes" 'in0=-,d,m;out0=-,d,m'

# What slices take apart is brought to its sharding before, at once.
cat >"$work/few.mlir" <<'PROGRAM'
module @qkv {
  func.func @main(%x: tensor<8x16x32xf32>, %w: tensor<32x96xf32>) -> tensor<8x16x32xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x96xf32>) -> tensor<8x16x96xf32>
    %1 = stablehlo.slice %0 [0:8, 0:16, 0:32] : (tensor<8x16x96xf32>) -> tensor<8x16x32xf32>
    %2 = stablehlo.slice %0 [0:8, 0:16, 32:64] : (tensor<8x16x96xf32>) -> tensor<8x16x32xf32>
    %3 = stablehlo.slice %0 [0:8, 0:16, 64:96] : (tensor<8x16x96xf32>) -> tensor<8x16x32xf32>
    %4 = stablehlo.multiply %1, %2 : tensor<8x16x32xf32>
    %5 = stablehlo.add %4, %3 : tensor<8x16x32xf32>
    return %5 : tensor<8x16x32xf32>
  }
}
PROGRAM
sends "what is taken apart" "2 collectives, by which a process sends 5120 bytes" 'in0=d,m;in1=-,m;out0=d,m'

# Of a pad with holes each part fetches what it needs: two of four parts one element, two none.
cat >"$work/few.mlir" <<'PROGRAM'
module @spread {
  func.func @main(%x: tensor<16xf32>) -> tensor<36xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = stablehlo.pad %x, %one, low = [1], high = [4], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<36xf32>
    return %0 : tensor<36xf32>
  }
}
PROGRAM
sends "holes" "1 collective, by which a process sends 2 bytes" 'in0=d;out0=d'

# An activation stays as the product before it is cut, and as the next one takes it.
cat >"$work/few.mlir" <<'PROGRAM'
module @activation {
  func.func @main(%x: tensor<8x16x32xf32>, %w: tensor<32x128xf32>, %v: tensor<128x32xf32>) -> tensor<8x16x32xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x128xf32>) -> tensor<8x16x128xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<8x16x128xf32>
    %2 = stablehlo.multiply %1, %0 : tensor<8x16x128xf32>
    %3 = stablehlo.tanh %2 : tensor<8x16x128xf32>
    %4 = stablehlo.multiply %3, %0 : tensor<8x16x128xf32>
    %5 = stablehlo.dot_general %4, %v, contracting_dims = [2] x [0] : (tensor<8x16x128xf32>, tensor<128x32xf32>) -> tensor<8x16x32xf32>
    return %5 : tensor<8x16x32xf32>
  }
}
PROGRAM
sends "an activation" "4 collectives, by which a process sends 16384 bytes" 'in0=d,m;in1=d,m;in2=m,d;out0=d,m'

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

# Columns that are cut already are cut further to sort whole ones: one all-to-all there, one back.
cat >"$work/few.mlir" <<'PROGRAM'
module @sorted {
  func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}
PROGRAM
sends "sorted columns" "2 collectives, by which a process sends 3072 bytes" 'in0=d,m;out0=d,m'

# Few of them, too, as comparisons take longer than bytes.
sed 's/64x64/16x8/g' "$work/few.mlir" >"$work/fewer.mlir"
mv "$work/fewer.mlir" "$work/few.mlir"
sends "a few sorted columns" "2 collectives, by which a process sends 96 bytes" 'in0=d,m;out0=d,m'

# The order of rows, by which others are taken, comes without the sorted rows themselves.
cat >"$work/few.mlir" <<'PROGRAM'
module @ordered {
  func.func @main(%x: tensor<16x8xf32>) -> tensor<16x8xi32> {
    %i = stablehlo.iota dim = 0 : tensor<16x8xi32>
    %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<16x8xf32>, tensor<16x8xi32>) -> (tensor<16x8xf32>, tensor<16x8xi32>)
    return %0#1 : tensor<16x8xi32>
  }
}
PROGRAM
sends "an order" "2 collectives, by which a process sends 96 bytes" 'in0=d,m;out0=d,m'

# A roll by nothing is no concatenation.
cat >"$work/few.mlir" <<'PROGRAM'
module @rolled {
  func.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {
    %0 = stablehlo.slice %x [0:32] : (tensor<32xf32>) -> tensor<32xf32>
    %1 = stablehlo.slice %x [0:0] : (tensor<32xf32>) -> tensor<0xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<32xf32>, tensor<0xf32>) -> tensor<32xf32>
    %3 = stablehlo.tanh %2 : tensor<32xf32>
    return %3 : tensor<32xf32>
  }
}
PROGRAM
sends "no roll" "0 collectives" 'in0=d+m;out0=d+m'

# A small operand is gathered rather than a larger result reduced; the work counts for little.
cat >"$work/few.mlir" <<'PROGRAM'
module @odd {
  func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x24xf32>) -> tensor<16x24xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x24xf32>) -> tensor<16x24xf32>
    %1 = stablehlo.tanh %0 : tensor<16x24xf32>
    return %1 : tensor<16x24xf32>
  }
}
PROGRAM
sends "an odd product" "2 collectives, by which a process sends 640 bytes" 'in0=d,m;in1=-,d;out0=d'

# Values and places of the largest elements are gathered by one collective.
cat >"$work/few.mlir" <<'PROGRAM'
module @largest {
  func.func @main(%x: tensor<64xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
    %0:2 = chlo.top_k(%x, k = 3) : tensor<64xf32> -> (tensor<3xf32>, tensor<3xi32>)
    return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
  }
}
PROGRAM
sends "largest elements" "by which a process sends" 'in0=d+m;out0=-;out1=-'
"$hlorun" -n 8 --mesh d=4,m=2 --sharding 'in0=d+m;out0=-;out1=-' --stop-after passes "$work/few.mlir" >"$work/out" 2>&1
[ "$(grep -c ' all-gather(' "$work/out")" = 1 ] && pass || fail "one gather of two types" "$work/out"

# Where both operands are cut along what is summed, each process multiplies its parts: gathering them would send less, but
# every process would do all of the work.
cat >"$work/heads.mlir" <<'PROGRAM'
module @heads {
  func.func @main(%x: tensor<4x64x8x16xf32>, %w: tensor<8x16x128xf32>) -> tensor<4x64x128xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2, 3] x [0, 1] : (tensor<4x64x8x16xf32>, tensor<8x16x128xf32>) -> tensor<4x64x128xf32>
    return %0 : tensor<4x64x128xf32>
  }
}
PROGRAM
expect_exit "heads are summed" 0 "$hlorun" -n 8 --mesh model=8 --sharding 'in0=-,-,model;in1=model;out0=-' \
  --explain-sharding "$work/heads.mlir"
expect_text "heads are summed" "1 collective,"
expect_text "heads are summed" "all-reduce of f32[4,64,128] among 8"

# Two rolls of one array are a permute each. What a slice was gathered for, which its concatenation does not read, is not
# there for the next.
cat >"$work/few.mlir" <<'PROGRAM'
module @rolls {
  func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.slice %x [2:16] : (tensor<16xf32>) -> tensor<14xf32>
    %1 = stablehlo.slice %x [0:2] : (tensor<16xf32>) -> tensor<2xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<14xf32>, tensor<2xf32>) -> tensor<16xf32>
    %3 = stablehlo.slice %x [1:16] : (tensor<16xf32>) -> tensor<15xf32>
    %4 = stablehlo.slice %x [0:1] : (tensor<16xf32>) -> tensor<1xf32>
    %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<15xf32>, tensor<1xf32>) -> tensor<16xf32>
    %6 = stablehlo.multiply %2, %5 : tensor<16xf32>
    return %6 : tensor<16xf32>
  }
}
PROGRAM
sends "two rolls" "2 collectives, by which a process sends 12 bytes" 'in0=d;out0=d'

# The gradient of a roll: a padded slice is a window of what is sliced, also of one row.
cat >"$work/few.mlir" <<'PROGRAM'
module @rolled_back {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %x [0:1, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %1 = stablehlo.pad %0, %zero, low = [3, 0], high = [0, 0], interior = [0, 0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %2 = stablehlo.slice %x [1:4, 0:8] : (tensor<4x8xf32>) -> tensor<3x8xf32>
    %3 = stablehlo.pad %2, %zero, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<3x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %4 = stablehlo.add %1, %3 : tensor<4x8xf32>
    return %4 : tensor<4x8xf32>
  }
}
PROGRAM
sends "a roll's gradient" "2 collectives, by which a process sends 32 bytes" 'in0=d;out0=d'

# The halves of a concatenation travel together: a part sends of one while it gets of the other.
cat >"$work/few.mlir" <<'PROGRAM'
module @halves {
  func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<16x8xf32> {
    %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}
PROGRAM
sends "two halves" "2 collectives, by which a process sends 48 bytes" 'in0=d,m;in1=d,m;out0=d,m'
cat >"$work/few.mlir" <<'PROGRAM'
module @thirds {
  func.func @main(%a: tensor<5x8xf32>, %b: tensor<9x8xf32>, %c: tensor<6x8xf32>) -> tensor<13x8xf32> {
    %0 = stablehlo.slice %b [2:6, 0:8] : (tensor<9x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.slice %c [1:5, 0:8] : (tensor<6x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.concatenate %a, %0, %1, dim = 0 : (tensor<5x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<13x8xf32>
    return %2 : tensor<13x8xf32>
  }
}
PROGRAM
sends "uneven pieces" "by which a process sends" 'in0=d,m;in1=d,m;in2=d,m;out0=d,m'

# A roll along two dimensions is one along each: the rows of a part go to the next one in one permute, and columns, which
# are whole, stay.
cat >"$work/few.mlir" <<'PROGRAM'
module @rolled_twice {
  func.func @main(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
    %0 = stablehlo.slice %x [14:16, 0:32] : (tensor<16x32xf32>) -> tensor<2x32xf32>
    %1 = stablehlo.slice %x [0:14, 0:32] : (tensor<16x32xf32>) -> tensor<14x32xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2x32xf32>, tensor<14x32xf32>) -> tensor<16x32xf32>
    %3 = stablehlo.slice %2 [0:16, 27:32] : (tensor<16x32xf32>) -> tensor<16x5xf32>
    %4 = stablehlo.slice %2 [0:16, 0:27] : (tensor<16x32xf32>) -> tensor<16x27xf32>
    %5 = stablehlo.concatenate %3, %4, dim = 1 : (tensor<16x5xf32>, tensor<16x27xf32>) -> tensor<16x32xf32>
    return %5 : tensor<16x32xf32>
  }
}
PROGRAM
sends "a roll along two dimensions" "1 collective, by which a process sends 256 bytes" 'in0=d+m;out0=d+m'

# A roll by a number that the program computes takes the whole array, once.
cat >"$work/few.mlir" <<'PROGRAM'
module @rolled_by {
  func.func @main(%x: tensor<16x4xf32>, %n: tensor<i32>) -> tensor<16x4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<32x4xf32>
    %1 = stablehlo.dynamic_slice %0, %n, %zero, sizes = [16, 4] : (tensor<32x4xf32>, tensor<i32>, tensor<i32>) -> tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }
}
PROGRAM
sends "a roll by a parameter" "1 collective, by which a process sends 192 bytes" 'in0=d;out0=d'

# Every second row and every third column: parts keep what they have of them, and gather the columns.
cat >"$work/few.mlir" <<'PROGRAM'
module @strides {
  func.func @main(%x: tensor<16x12xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.slice %x [1:16:2, 0:12:3] : (tensor<16x12xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
PROGRAM
sends "strided columns" "1 collective, by which a process sends 16 bytes" 'in0=d,m;out0=d'

# A diagonal that is wanted whole is one sum, to which each part contributes what it has.
cat >"$work/few.mlir" <<'PROGRAM'
module @diagonal {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<8x2xi32>
    %1 = "stablehlo.gather"(%x, %0) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<8x8xf32>, tensor<8x2xi32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
PROGRAM
sends "a whole diagonal" "1 collective, by which a process sends 56 bytes" 'in0=d,m;out0=-'

# A slice of a sum of parts is reduced in its own size, to where it is wanted.
cat >"$work/few.mlir" <<'PROGRAM'
module @sliced_sum {
  func.func @main(%x: tensor<16x9xf32>) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x9xf32>, tensor<f32>) -> tensor<9xf32>
    %1 = stablehlo.slice %0 [1:9] : (tensor<9xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
PROGRAM
sends "a slice of a sum" "1 collective, by which a process sends 24 bytes" 'in0=d;out0=d'

# What several operations take from a product is brought to its sharding once, before they use it.
cat >"$work/few.mlir" <<'PROGRAM'
module @spread {
  func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    %1 = stablehlo.tanh %0 : tensor<64x32xf32>
    %2 = stablehlo.add %0, %0 : tensor<64x32xf32>
    %3 = stablehlo.negate %0 : tensor<64x32xf32>
    return %1, %2, %3 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
  }
}
PROGRAM
sends "a product that is taken three times" "3 collectives, by which a process sends 2048 bytes" \
  'in0=m;in1=-,d;out0=d;out1=d;out2=d'

# What is gathered for one constraint is there for another one.
cat >"$work/gathered.mlir" <<'PROGRAM'
module @constraint attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["d"=4, "m"=2]>
  func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"d"}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = sdy.sharding_constraint %x <@mesh, [{}, {}]> : tensor<16x8xf32>
    %1 = stablehlo.pad %0, %zero, low = [0, 4], high = [0, 4], interior = [0, 0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x16xf32>
    %2 = sdy.sharding_constraint %x <@mesh, [{?}, {}]> : tensor<16x8xf32>
    %3 = stablehlo.reverse %2, dims = [0] : tensor<16x8xf32>
    return %1, %3 : tensor<16x16xf32>, tensor<16x8xf32>
  }
}
PROGRAM
expect_exit "two constraints are explained" 0 "$hlorun" -n 8 --explain-sharding "$work/gathered.mlir"
expect_text "two constraints are explained" "1 collective, by which a process sends 384 bytes"
expect_exit "two constraints on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/gathered.mlir"
expect_exit "two constraints" 0 "$hlorun" -n 8 --random-inputs --expect "$work/one.npz" "$work/gathered.mlir"

# So it is for a constraint of the transposed array, whichever comes first, also where each is used once.
for order in "a b" "b a"; do
  cat >"$work/turned.mlir" <<PROGRAM
module @turned attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["d"=4, "m"=2]>
  func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
$(for part in $order; do
    [ "$part" = a ] && echo '    %a = sdy.sharding_constraint %x <@mesh, [{}, {}]> : tensor<16x8xf32>' ||
      echo '    %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %b = sdy.sharding_constraint %t <@mesh, [{}, {}]> : tensor<8x16xf32>'
  done
  for part in $order; do
    [ "$part" = a ] && echo '    %0 = stablehlo.sine %a : tensor<16x8xf32>' ||
      echo '    %1 = stablehlo.cosine %b : tensor<8x16xf32>'
  done)
    return %0, %1 : tensor<16x8xf32>, tensor<8x16xf32>
  }
}
PROGRAM
  expect_exit "a transposed constraint, $order, is explained" 0 "$hlorun" -n 8 --explain-sharding "$work/turned.mlir"
  expect_text "a transposed constraint, $order, is explained" "1 collective, by which a process sends 384 bytes"
  expect_exit "a transposed constraint, $order, on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/turned.mlir"
  expect_exit "a transposed constraint, $order" 0 "$hlorun" -n 8 --random-inputs --ulp 0 --expect "$work/one.npz" "$work/turned.mlir"
done

# A sort of a whole array, of which results are wanted in two shardings, is done in both: nothing moves.
cat >"$work/few.mlir" <<'PROGRAM'
module @both {
  func.func @main(%x: tensor<16x18xf32>) -> (tensor<16x18xf32>, tensor<16x18xi32>) {
    %i = stablehlo.iota dim = 1 : tensor<16x18xi32>
    %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<16x18xf32>, tensor<16x18xi32>) -> (tensor<16x18xf32>, tensor<16x18xi32>)
    return %0#0, %0#1 : tensor<16x18xf32>, tensor<16x18xi32>
  }
}
PROGRAM
sends "a sort in two shardings" "0 collectives" 'in0=-;out0=d;out1=m'
cat >"$work/few.mlir" <<'PROGRAM'
module @best {
  func.func @main(%x: tensor<16x18xf32>) -> (tensor<16x4xf32>, tensor<16x4xi32>) {
    %0:2 = chlo.top_k(%x, k = 4) : tensor<16x18xf32> -> (tensor<16x4xf32>, tensor<16x4xi32>)
    return %0#0, %0#1 : tensor<16x4xf32>, tensor<16x4xi32>
  }
}
PROGRAM
sends "largest elements in two shardings" "0 collectives" 'in0=-;out0=d;out1=m'

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
