func.func @tanh_f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, -40.0]> : tensor<3xf64>
  %y = stablehlo.tanh %x : tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[0.0, 0.7615941559557649, -1.0]> : tensor<3xf64> {tolerance = 1.0e-15 : f64}
  func.return
}
