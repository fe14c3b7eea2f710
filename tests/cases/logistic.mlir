func.func @logistic_f64() {
  %x = stablehlo.constant dense<[0.0, 2.0]> : tensor<2xf64>
  %y = stablehlo.logistic %x : tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[0.5, 0.8807970779778823]> : tensor<2xf64> {tolerance = 1.0e-15 : f64}
  func.return
}
