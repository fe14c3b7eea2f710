// What slices take apart is brought to its sharding before, at once.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;in1=-,m;out0=d,m
// CHECK: 2 collectives, by which a process sends 5120 bytes
module @qkv {
  func.func @main(%x: tensor<8x16x32xf32>, %w: tensor<32x96xf32>) -> tensor<8x16x32xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x96xf32>) -> tensor<8x16x96xf32>
    %1 = stablehlo.slice %0 [0:8, 0:16, 0:32] : (tensor<8x16x96xf32>) -> tensor<8x16x32xf32>
    %2 = stablehlo.slice %0 [0:8, 0:16, 32:64] : (tensor<8x16x96xf32>) -> tensor<8x16x32xf32>
    %3 = stablehlo.slice %0 [0:8, 0:16, 64:96] : (tensor<8x16x96xf32>) -> tensor<8x16x32xf32>
    %4 = stablehlo.multiply %1, %2 : tensor<8x16x32xf32>
    %5 = stablehlo.add %4, %3 : tensor<8x16x32xf32>
    return %5 : tensor<8x16x32xf32>
  }
}
