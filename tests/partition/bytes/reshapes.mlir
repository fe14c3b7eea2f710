// Reshapes that lead back, and copies of tuples, move nothing.
// RUN: --mesh d=4,m=2 --sharding in0=-,d;out0=-,d
// CHECK: 0 collectives
module @back {
  func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
    %0 = stablehlo.reshape %x : (tensor<6x8xf32>) -> tensor<48xf32>
    %1 = stablehlo.reshape %0 : (tensor<48xf32>) -> tensor<6x8xf32>
    %2 = stablehlo.negate %1 : tensor<6x8xf32>
    return %2 : tensor<6x8xf32>
  }
}
