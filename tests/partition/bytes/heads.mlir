// Where both operands are cut along what is summed, each process multiplies its parts: gathering them would send less, but
// every process would do all of the work.
// RUN: --mesh model=8 --sharding in0=-,-,model;in1=model;out0=-
// CHECK: 1 collective,
// CHECK: all-reduce of f32[4,64,128] among 8
module @heads {
  func.func @main(%x: tensor<4x64x8x16xf32>, %w: tensor<8x16x128xf32>) -> tensor<4x64x128xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2, 3] x [0, 1] : (tensor<4x64x8x16xf32>, tensor<8x16x128xf32>) -> tensor<4x64x128xf32>
    return %0 : tensor<4x64x128xf32>
  }
}
