// A roll by nothing is no concatenation.
// RUN: --mesh d=4,m=2 --sharding in0=d+m;out0=d+m
// CHECK: 0 collectives
module @rolled {
  func.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {
    %0 = stablehlo.slice %x [0:32] : (tensor<32xf32>) -> tensor<32xf32>
    %1 = stablehlo.slice %x [0:0] : (tensor<32xf32>) -> tensor<0xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<32xf32>, tensor<0xf32>) -> tensor<32xf32>
    %3 = stablehlo.tanh %2 : tensor<32xf32>
    return %3 : tensor<32xf32>
  }
}
