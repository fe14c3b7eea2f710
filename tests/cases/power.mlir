func.func @power_i64() {
  %a = stablehlo.constant dense<[-2, 3, -1, 1, 0]> : tensor<5xi64>
  %b = stablehlo.constant dense<[3, 4, -3, -5, 0]> : tensor<5xi64>
  %y = stablehlo.power %a, %b : tensor<5xi64>
  check.expect_eq_const %y, dense<[-8, 81, -1, 1, 1]> : tensor<5xi64>
  func.return
}

// -----

func.func @power_f64() {
  %a = stablehlo.constant dense<[2.0, -2.0, 0.0]> : tensor<3xf64>
  %b = stablehlo.constant dense<[-2.0, 3.0, 0.0]> : tensor<3xf64>
  %y = stablehlo.power %a, %b : tensor<3xf64>
  check.expect_eq_const %y, dense<[0.25, -8.0, 1.0]> : tensor<3xf64>
  func.return
}
