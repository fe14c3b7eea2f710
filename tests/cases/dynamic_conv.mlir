// Padding as an operand: constant, and computed; kernels of open sizes.
func.func @main(){
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %kernel = stablehlo.constant dense<1.0> : tensor<2x1x1xf32>
  %padding = stablehlo.constant dense<[[1, 1]]> : tensor<1x2xi32>
  %a = "stablehlo.dynamic_conv"(%x, %kernel, %padding) {
    dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>,
    feature_group_count = 1 : i64, batch_group_count = 1 : i64
  } : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> tensor<1x4x1xf32>
  check.expect_eq_const %a, dense<[[[1.0], [3.0], [5.0], [3.0]]]> : tensor<1x4x1xf32>
  %more = stablehlo.add %padding, %padding : tensor<1x2xi32>
  %b = "stablehlo.dynamic_conv"(%x, %kernel, %more) {
    dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>,
    window_strides = array<i64: 2>, feature_group_count = 1 : i64, batch_group_count = 1 : i64
  } : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> tensor<1x?x1xf32>
  %short = stablehlo.dynamic_conv(%x, %kernel, %more) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> tensor<1x3x1xf32>
  check.expect_eq_const %short, dense<[[[0.0], [3.0], [3.0]]]> : tensor<1x3x1xf32>
  %c = tensor.cast %b : tensor<1x?x1xf32> to tensor<1x3x1xf32>
  check.expect_eq_const %c, dense<[[[0.0], [3.0], [3.0]]]> : tensor<1x3x1xf32>

  // A kernel of open sizes: the result's sizes may be declared, or be open too.
  %rows = stablehlo.constant dense<[2, 1, 1]> : tensor<3xi64>
  %open = stablehlo.dynamic_reshape %kernel, %rows : (tensor<2x1x1xf32>, tensor<3xi64>) -> tensor<?x1x1xf32>
  %d = stablehlo.convolution(%x, %open) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<?x1x1xf32>) -> tensor<1x3x1xf32>
  check.expect_eq_const %d, dense<[[[1.0], [3.0], [5.0]]]> : tensor<1x3x1xf32>
  %e = stablehlo.convolution(%x, %open) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<?x1x1xf32>) -> tensor<1x?x1xf32>
  %f = tensor.cast %e : tensor<1x?x1xf32> to tensor<1x2x1xf32>
  check.expect_eq_const %f, dense<[[[3.0], [5.0]]]> : tensor<1x2x1xf32>
  func.return
}
