func.func @atan_f64() {
  %x = stablehlo.constant dense<[-2.0, 0.5]> : tensor<2xf64>
  %y = chlo.atan %x : tensor<2xf64> -> tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[-1.1071487177940904, 0.4636476090008061]> : tensor<2xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
