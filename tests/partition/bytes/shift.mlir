// What is padded and cut off again in two dimensions is not fetched.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;out0=d,m
// CHECK: 2 collectives, by which a process sends 20 bytes
module @shifted {
  func.func @main(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %x, %zero, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<18x10xf32>
    %1 = stablehlo.slice %0 [2:18, 2:10] : (tensor<18x10xf32>) -> tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  }
}
