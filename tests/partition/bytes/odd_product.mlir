// A small operand is gathered rather than a larger result reduced; the work counts for little.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;in1=-,d;out0=d
// CHECK: 2 collectives, by which a process sends 640 bytes
module @odd {
  func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x24xf32>) -> tensor<16x24xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x24xf32>) -> tensor<16x24xf32>
    %1 = stablehlo.tanh %0 : tensor<16x24xf32>
    return %1 : tensor<16x24xf32>
  }
}
