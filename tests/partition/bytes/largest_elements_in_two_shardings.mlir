// RUN: --mesh d=4,m=2 --sharding in0=-;out0=d;out1=m
// CHECK: 0 collectives
module @best {
  func.func @main(%x: tensor<16x18xf32>) -> (tensor<16x4xf32>, tensor<16x4xi32>) {
    %0:2 = chlo.top_k(%x, k = 4) : tensor<16x18xf32> -> (tensor<16x4xf32>, tensor<16x4xi32>)
    return %0#0, %0#1 : tensor<16x4xf32>, tensor<16x4xi32>
  }
}
