// Every second row and every third column: parts keep what they have of them, and gather the columns.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;out0=d
// CHECK: 1 collective, by which a process sends 16 bytes
module @strides {
  func.func @main(%x: tensor<16x12xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.slice %x [1:16:2, 0:12:3] : (tensor<16x12xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
