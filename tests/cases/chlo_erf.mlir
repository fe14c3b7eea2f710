func.func @erf_f64() {
  %x = stablehlo.constant dense<[-2.0, 0.5]> : tensor<2xf64>
  %y = chlo.erf %x : tensor<2xf64> -> tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[-0.9953222650189527, 0.5204998778130465]> : tensor<2xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
