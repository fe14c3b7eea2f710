func.func @atanh_f64() {
  %x = stablehlo.constant dense<[-0.5, 0.25]> : tensor<2xf64>
  %y = chlo.atanh %x : tensor<2xf64> -> tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[-0.5493061443340548, 0.25541281188299536]> : tensor<2xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
