func.func @acos_f64() {
  %x = stablehlo.constant dense<[-1.0, 0.25, 1.0]> : tensor<3xf64>
  %y = chlo.acos %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[3.141592653589793, 1.318116071652818, 0.0]> : tensor<3xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
