func.func @asinh_f64() {
  %x = stablehlo.constant dense<[-2.0, 0.5]> : tensor<2xf64>
  %y = chlo.asinh %x : tensor<2xf64> -> tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[-1.4436354751788103, 0.48121182505960347]> : tensor<2xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
