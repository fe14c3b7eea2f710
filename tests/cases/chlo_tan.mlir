func.func @tan_f64() {
  %x = stablehlo.constant dense<[-2.0, 0.5]> : tensor<2xf64>
  %y = chlo.tan %x : tensor<2xf64> -> tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[2.185039863261519, 0.5463024898437905]> : tensor<2xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
