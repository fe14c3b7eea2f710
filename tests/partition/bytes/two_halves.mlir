// The halves of a concatenation travel together: a part sends of one while it gets of the other.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;in1=d,m;out0=d,m
// CHECK: 2 collectives, by which a process sends 48 bytes
module @halves {
  func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<16x8xf32> {
    %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}
