func.func @asin_f64() {
  %x = stablehlo.constant dense<[-1.0, 0.25, 1.0]> : tensor<3xf64>
  %y = chlo.asin %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[-1.5707963267948966, 0.25268025514207865, 1.5707963267948966]> : tensor<3xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
