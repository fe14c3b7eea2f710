// An array that slices take apart moves once for all of them.
// RUN: --mesh d=4,m=2 --sharding in0=m;out0=-,m
// CHECK: 1 collective, by which a process sends 256 bytes
module @pieces {
  func.func @main(%x: tensor<32x8xf32>) -> tensor<32x8xf32> {
    %0 = stablehlo.slice %x [0:5, 0:8] : (tensor<32x8xf32>) -> tensor<5x8xf32>
    %1 = stablehlo.slice %x [5:13, 0:8] : (tensor<32x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.slice %x [13:32, 0:8] : (tensor<32x8xf32>) -> tensor<19x8xf32>
    %two = stablehlo.constant dense<2.0> : tensor<5x8xf32>
    %three = stablehlo.constant dense<3.0> : tensor<8x8xf32>
    %3 = stablehlo.multiply %0, %two : tensor<5x8xf32>
    %4 = stablehlo.multiply %1, %three : tensor<8x8xf32>
    %5 = stablehlo.concatenate %3, %4, %2, dim = 0 : (tensor<5x8xf32>, tensor<8x8xf32>, tensor<19x8xf32>) -> tensor<32x8xf32>
    return %5 : tensor<32x8xf32>
  }
}
