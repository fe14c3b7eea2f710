func.func @lgamma_f64() {
  %x = stablehlo.constant dense<[-1.5, 0.25, 0.5, 3.5, 50.0]> : tensor<5xf64>
  %y = chlo.lgamma %x : tensor<5xf64> -> tensor<5xf64>
  check.expect_almost_eq_const %y, dense<[0.8600470153764812, 1.2880225246980772, 0.5723649429247004, 1.2009736023470738, 144.5657439463449]> : tensor<5xf64> {tolerance = 4.0e-13 : f64}
  func.return
}
