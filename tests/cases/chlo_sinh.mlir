func.func @sinh_f64() {
  %x = stablehlo.constant dense<[-2.0, 0.5]> : tensor<2xf64>
  %y = chlo.sinh %x : tensor<2xf64> -> tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[-3.626860407847019, 0.5210953054937474]> : tensor<2xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
