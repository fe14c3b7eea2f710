// RUN: --mesh d=4,m=2 --sharding in0=d,m;out0=d,m
// CHECK: 2 collectives, by which a process sends 96 bytes
module @turned {
  func.func @main(%x: tensor<16x8xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<16x8xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
}
