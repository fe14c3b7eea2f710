func.func @transpose() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %y = stablehlo.unary_einsum %a, config = "ab->ba" : (tensor<2x3xi64>) -> tensor<3x2xi64>
  check.expect_eq_const %y, dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi64>
  func.return
}

// -----

func.func @row_sums() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %y = stablehlo.unary_einsum %a, config = "ab->a" : (tensor<2x3xi64>) -> tensor<2xi64>
  check.expect_eq_const %y, dense<[6, 15]> : tensor<2xi64>
  func.return
}
