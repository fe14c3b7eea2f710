// HONEST: 2=s32[2,2]{{1,1},{1,1}}
// LYING: 2=s32[2,2]{{100,100},{100,100}}
// LYING: 2=s32[2,2]{{-8,-8},{0,0}}
module @m {
  func.func @main(%x: tensor<1x8x8x1xf32>, %k: tensor<3x3x1x1xf32>, %p: tensor<2x2xi32>) -> tensor<1x8x8x1xf32> {
    %0 = "stablehlo.dynamic_conv"(%x, %k, %p) {window_strides = array<i64: 1, 1>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x1xf32>, tensor<3x3x1x1xf32>, tensor<2x2xi32>) -> tensor<1x8x8x1xf32>
    return %0 : tensor<1x8x8x1xf32>
  }
}
