// A product of such matrices is computed by batches already: its operands move, not the gathered operand and the result.
// RUN: --mesh d=4,m=2 --sharding in0=-,d;in1=-,d;out0=d
// CHECK: 2 collectives, by which a process sends 1536 bytes
module @product {
  func.func @main(%x: tensor<16x8x8xf32>, %y: tensor<16x8x8xf32>) -> tensor<16x8x8xf32> {
    %scale = stablehlo.constant dense<0.01> : tensor<16x8x8xf32>
    %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
    %1 = stablehlo.multiply %0, %scale : tensor<16x8x8xf32>
    %2 = "stablehlo.triangular_solve"(%1, %1) {left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
    return %2 : tensor<16x8x8xf32>
  }
}
