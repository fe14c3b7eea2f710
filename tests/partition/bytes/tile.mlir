// Rows that are repeated as a block go where they are needed: a permute and a gather of half of them.
// RUN: --mesh d=4,m=2 --sharding in0=d;out0=d
// CHECK: 2 collectives, by which a process sends 96 bytes
module @tiled {
  func.func @main(%x: tensor<16x4xf32>) -> tensor<32x4xf32> {
    %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<16x4xf32>) -> tensor<2x16x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x16x4xf32>) -> tensor<32x4xf32>
    return %1 : tensor<32x4xf32>
  }
}
