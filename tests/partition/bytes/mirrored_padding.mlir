// The elements at the ends of a padded array come from where they are: no part gathers them.
// RUN: --mesh x=8 --sharding in0=x;out0=x;out1=x
// CHECK: 4 collectives, by which a process sends 416 bytes
module @padded {
  func.func @main(%x: tensor<64x8xf32>) -> (tensor<80x8xf32>, tensor<80x8xf32>) {
    %first = stablehlo.slice %x [0:1, 0:8] : (tensor<64x8xf32>) -> tensor<1x8xf32>
    %rows = stablehlo.broadcast_in_dim %first, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x8x8xf32>
    %repeated = stablehlo.reshape %rows : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %ends = stablehlo.slice %x [54:64, 0:8] : (tensor<64x8xf32>) -> tensor<10x8xf32>
    %most = stablehlo.slice %ends [2:10, 0:8] : (tensor<10x8xf32>) -> tensor<8x8xf32>
    %mirrored = stablehlo.reverse %most, dims = [0] : tensor<8x8xf32>
    %0 = stablehlo.concatenate %repeated, %x, %mirrored, dim = 0 : (tensor<8x8xf32>, tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<80x8xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<12x8xf32>
    %low = stablehlo.slice %x [0:4, 0:8] : (tensor<64x8xf32>) -> tensor<4x8xf32>
    %turned = stablehlo.reverse %low, dims = [0] : tensor<4x8xf32>
    %left = stablehlo.concatenate %zero, %turned, dim = 0 : (tensor<12x8xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
    %1 = stablehlo.concatenate %left, %x, dim = 0 : (tensor<16x8xf32>, tensor<64x8xf32>) -> tensor<80x8xf32>
    return %0, %1 : tensor<80x8xf32>, tensor<80x8xf32>
  }
}
