func.func @zeta_f64() {
  %a = stablehlo.constant dense<[2.0, 4.0, 1.5]> : tensor<3xf64>
  %b = stablehlo.constant dense<[1.0, 1.0, 3.0]> : tensor<3xf64>
  %y = chlo.zeta %a, %b : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[1.6449340668482264, 1.0823232337111381, 1.258821958092214]> : tensor<3xf64> {tolerance = 1.0e-13 : f64}
  func.return
}
