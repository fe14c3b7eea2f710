func.func @log_plus_one_f64() {
  %x = stablehlo.constant dense<[0.0, 1.0e-10]> : tensor<2xf64>
  %y = stablehlo.log_plus_one %x : tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[0.0, 9.999999999500001e-11]> : tensor<2xf64> {tolerance = 1.0e-25 : f64}
  func.return
}
