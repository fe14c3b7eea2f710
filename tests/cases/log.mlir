func.func @log_f64() {
  %x = stablehlo.constant dense<[1.0, 8.0]> : tensor<2xf64>
  %y = stablehlo.log %x : tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[0.0, 2.0794415416798357]> : tensor<2xf64> {tolerance = 1.0e-15 : f64}
  func.return
}
