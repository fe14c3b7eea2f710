// A slice of a sum of parts is reduced in its own size, to where it is wanted.
// RUN: --mesh d=4,m=2 --sharding in0=d;out0=d
// CHECK: 1 collective, by which a process sends 24 bytes
module @sliced_sum {
  func.func @main(%x: tensor<16x9xf32>) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x9xf32>, tensor<f32>) -> tensor<9xf32>
    %1 = stablehlo.slice %0 [1:9] : (tensor<9xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
