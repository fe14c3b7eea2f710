func.func @tan_f64() {
  %x = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf64>
  %y = stablehlo.tan %x : tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[0.0, 1.5574077246549023]> : tensor<2xf64> {tolerance = 1.0e-15 : f64}
  func.return
}
