func.func @erfc_f64() {
  %x = stablehlo.constant dense<[-2.0, 0.5, 3.0]> : tensor<3xf64>
  %y = chlo.erfc %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[1.9953222650189528, 0.4795001221869535, 2.2090496998585438e-05]> : tensor<3xf64> {tolerance = 1.0e-14 : f64}
  func.return
}
