func.func @cosh_f64() {
  %x = stablehlo.constant dense<[-2.0, 0.5]> : tensor<2xf64>
  %y = chlo.cosh %x : tensor<2xf64> -> tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[3.7621956910836314, 1.1276259652063807]> : tensor<2xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
