// Sums of few terms are taken in the order of the program, and each product and sum is rounded on its own.
func.func @product_with_conjugate() {
  %x = stablehlo.constant dense<[[(0.1, 0.3)], [(0.7, -1.3)]]> : tensor<2x1xcomplex<f32>>
  %y = stablehlo.constant dense<[[(0.1, -0.3), (0.7, 1.3)]]> : tensor<1x2xcomplex<f32>>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x1xcomplex<f32>>, tensor<1x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %i = stablehlo.imag %z : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  %a = stablehlo.slice %i [0:1, 0:1] : (tensor<2x2xf32>) -> tensor<1x1xf32>
  %b = stablehlo.slice %i [1:2, 1:2] : (tensor<2x2xf32>) -> tensor<1x1xf32>
  check.expect_eq_const %a, dense<0.0> : tensor<1x1xf32>
  check.expect_eq_const %b, dense<0.0> : tensor<1x1xf32>
  func.return
}

// -----

func.func @window_row_by_row() {
  %x = stablehlo.constant dense<[[1.0e8, 1.0], [-1.0e8, 1.0]]> : tensor<2x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>} : (tensor<2x2xf32>, tensor<f32>) -> tensor<1x1xf32>
  check.expect_eq_const %y, dense<1.0> : tensor<1x1xf32>
  func.return
}

// -----

func.func @running_total_of_bf16() {
  %x = stablehlo.constant dense<[256.0, 1.0, 1.0, 2.0]> : tensor<4xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %y = "stablehlo.reduce_window"(%x, %zero) ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %s = stablehlo.add %a, %b : tensor<bf16>
      stablehlo.return %s : tensor<bf16>
  }) {window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>} : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  check.expect_eq_const %y, dense<[256.0, 256.0, 256.0, 258.0]> : tensor<4xbf16>
  func.return
}

// -----

func.func @convolution_that_cancels() {
  %x = stablehlo.constant dense<[[[0.1, 0.1, 0.7, 0.7]]]> : tensor<1x1x4xf32>
  %k = stablehlo.constant dense<[[[0.3, -0.3]]]> : tensor<1x1x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  check.expect_eq_const %y, dense<0.0> : tensor<1x1x2xf32>
  func.return
}
