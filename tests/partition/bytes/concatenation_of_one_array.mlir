// Operands without elements change nothing of a concatenation.
// RUN: --mesh d=4,m=2 --sharding in0=-,m
// CHECK: 0 collectives
module @empty {
  func.func @main(%x: tensor<16x6xf32>) -> (tensor<16x6xf32>, tensor<32x6xf32>) {
    %0 = stablehlo.slice %x [0:0, 0:6] : (tensor<16x6xf32>) -> tensor<0x6xf32>
    %1 = stablehlo.concatenate %0, %x, dim = 0 : (tensor<0x6xf32>, tensor<16x6xf32>) -> tensor<16x6xf32>
    %2 = stablehlo.concatenate %x, %0, %1, dim = 0 : (tensor<16x6xf32>, tensor<0x6xf32>, tensor<16x6xf32>) -> tensor<32x6xf32>
    return %1, %2 : tensor<16x6xf32>, tensor<32x6xf32>
  }
}
