func.func @lower() {
  %x = stablehlo.constant dense<[[4.0, 2.0], [2.0, 10.0]]> : tensor<2x2xf64>
  %y = stablehlo.cholesky %x, lower = true : tensor<2x2xf64>
  check.expect_almost_eq_const %y, dense<[[2.0, 0.0], [1.0, 3.0]]> : tensor<2x2xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
