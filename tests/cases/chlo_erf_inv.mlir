func.func @erf_inv_f64() {
  %x = stablehlo.constant dense<[-0.5, 0.0, 0.9]> : tensor<3xf64>
  %y = chlo.erf_inv %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[-0.4769362762044699, 0.0, 1.1630871536766743]> : tensor<3xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
