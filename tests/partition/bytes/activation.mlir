// An activation stays as the product before it is cut, and as the next one takes it.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;in1=d,m;in2=m,d;out0=d,m
// CHECK: 4 collectives, by which a process sends 16384 bytes
module @activation {
  func.func @main(%x: tensor<8x16x32xf32>, %w: tensor<32x128xf32>, %v: tensor<128x32xf32>) -> tensor<8x16x32xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x128xf32>) -> tensor<8x16x128xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<8x16x128xf32>
    %2 = stablehlo.multiply %1, %0 : tensor<8x16x128xf32>
    %3 = stablehlo.tanh %2 : tensor<8x16x128xf32>
    %4 = stablehlo.multiply %3, %0 : tensor<8x16x128xf32>
    %5 = stablehlo.dot_general %4, %v, contracting_dims = [2] x [0] : (tensor<8x16x128xf32>, tensor<128x32xf32>) -> tensor<8x16x32xf32>
    return %5 : tensor<8x16x32xf32>
  }
}
