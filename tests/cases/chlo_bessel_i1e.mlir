func.func @bessel_i1e_f64() {
  %x = stablehlo.constant dense<[-1.0, 0.0, 20.0]> : tensor<3xf64>
  %y = chlo.bessel_i1e %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[-0.2079104153497085, 0.0, 0.08750622218328867]> : tensor<3xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
