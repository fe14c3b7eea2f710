// A roll by a number that the program computes takes the whole array, once.
// RUN: --mesh d=4,m=2 --sharding in0=d;out0=d
// CHECK: 1 collective, by which a process sends 192 bytes
module @rolled_by {
  func.func @main(%x: tensor<16x4xf32>, %n: tensor<i32>) -> tensor<16x4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<32x4xf32>
    %1 = stablehlo.dynamic_slice %0, %n, %zero, sizes = [16, 4] : (tensor<32x4xf32>, tensor<i32>, tensor<i32>) -> tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }
}
