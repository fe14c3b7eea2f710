func.func @cbrt_f64() {
  %x = stablehlo.constant dense<[0.0, 8.0, -27.0]> : tensor<3xf64>
  %y = stablehlo.cbrt %x : tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[0.0, 2.0, -3.0]> : tensor<3xf64> {tolerance = 1.0e-15 : f64}
  func.return
}
