func.func @atan2_f64() {
  %a = stablehlo.constant dense<[1.0, 0.0, -1.0]> : tensor<3xf64>
  %b = stablehlo.constant dense<[1.0, -1.0, 0.0]> : tensor<3xf64>
  %y = stablehlo.atan2 %a, %b : tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[0.7853981633974483, 3.141592653589793, -1.5707963267948966]> : tensor<3xf64> {tolerance = 1.0e-15 : f64}
  func.return
}
