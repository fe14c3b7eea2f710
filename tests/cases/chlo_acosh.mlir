func.func @acosh_f64() {
  %x = stablehlo.constant dense<[1.0, 2.5]> : tensor<2xf64>
  %y = chlo.acosh %x : tensor<2xf64> -> tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[0.0, 1.566799236972411]> : tensor<2xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
