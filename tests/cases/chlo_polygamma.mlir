func.func @polygamma_f64() {
  %a = stablehlo.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf64>
  %b = stablehlo.constant dense<[1.0, 1.0, 3.0]> : tensor<3xf64>
  %y = chlo.polygamma %a, %b : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[-0.5772156649015329, 1.6449340668482264, -0.15411380631918858]> : tensor<3xf64> {tolerance = 1.0e-12 : f64}
  func.return
}
