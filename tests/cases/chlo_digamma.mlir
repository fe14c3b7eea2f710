func.func @digamma_f64() {
  %x = stablehlo.constant dense<[0.5, 1.0, -0.5]> : tensor<3xf64>
  %y = chlo.digamma %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[-1.9635100260214235, -0.5772156649015329, 0.03648997397857652]> : tensor<3xf64> {tolerance = 1.0e-13 : f64}
  func.return
}
