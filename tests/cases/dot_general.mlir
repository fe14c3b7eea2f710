func.func @batched() {
  %a = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi64>
  %b = stablehlo.constant dense<[[[1, 0], [0, 1]], [[1, 1], [0, 1]]]> : tensor<2x2x2xi64>
  %y = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x2x2xi64>, tensor<2x2x2xi64>) -> tensor<2x2x2xi64>
  check.expect_eq_const %y, dense<[[[1, 2], [3, 4]], [[5, 11], [7, 15]]]> : tensor<2x2x2xi64>
  func.return
}

// -----

func.func @outer_product() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[3.0, 4.0, 5.0]> : tensor<3xf32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [] x [], precision = [HIGHEST, HIGHEST] : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]> : tensor<2x3xf32>
  func.return
}
