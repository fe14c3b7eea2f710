// See reversal.mlir: the result is cut in another dimension.
// RUN: --mesh d=4,m=2 --sharding in0=d;out0=d,m
// CHECK: 1 collective, by which a process sends 256 bytes
module @reversed {
  func.func @main(%x: tensor<32x16xf32>) -> tensor<32x16xf32> {
    %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<32x16xf32>
    return %0 : tensor<32x16xf32>
  }
}
