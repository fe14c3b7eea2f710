func.func @remainder_i64() {
  %a = stablehlo.constant dense<[17, -17, 17, -17]> : tensor<4xi64>
  %b = stablehlo.constant dense<[3, 3, -3, -3]> : tensor<4xi64>
  %y = stablehlo.remainder %a, %b : tensor<4xi64>
  check.expect_eq_const %y, dense<[2, -2, 2, -2]> : tensor<4xi64>
  func.return
}

// -----

func.func @remainder_f64() {
  %a = stablehlo.constant dense<[17.5, -17.5]> : tensor<2xf64>
  %b = stablehlo.constant dense<[3.0, 3.0]> : tensor<2xf64>
  %y = stablehlo.remainder %a, %b : tensor<2xf64>
  check.expect_eq_const %y, dense<[2.5, -2.5]> : tensor<2xf64>
  func.return
}
