// The gradient of a roll: a padded slice is a window of what is sliced, also of one row.
// RUN: --mesh d=4,m=2 --sharding in0=d;out0=d
// CHECK: 2 collectives, by which a process sends 32 bytes
module @rolled_back {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %x [0:1, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %1 = stablehlo.pad %0, %zero, low = [3, 0], high = [0, 0], interior = [0, 0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %2 = stablehlo.slice %x [1:4, 0:8] : (tensor<4x8xf32>) -> tensor<3x8xf32>
    %3 = stablehlo.pad %2, %zero, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<3x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %4 = stablehlo.add %1, %3 : tensor<4x8xf32>
    return %4 : tensor<4x8xf32>
  }
}
