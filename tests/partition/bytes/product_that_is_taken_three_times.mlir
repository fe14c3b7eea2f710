// What several operations take from a product is brought to its sharding once, before they use it.
// RUN: --mesh d=4,m=2 --sharding in0=m;in1=-,d;out0=d;out1=d;out2=d
// CHECK: 3 collectives, by which a process sends 2048 bytes
module @spread {
  func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    %1 = stablehlo.tanh %0 : tensor<64x32xf32>
    %2 = stablehlo.add %0, %0 : tensor<64x32xf32>
    %3 = stablehlo.negate %0 : tensor<64x32xf32>
    return %1, %2, %3 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
  }
}
