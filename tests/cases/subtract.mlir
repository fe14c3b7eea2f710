func.func @subtract_i8() {
  %a = stablehlo.constant dense<[-128, 3]> : tensor<2xi8>
  %b = stablehlo.constant dense<[1, 5]> : tensor<2xi8>
  %y = stablehlo.subtract %a, %b : tensor<2xi8>
  check.expect_eq_const %y, dense<[127, -2]> : tensor<2xi8>
  func.return
}

// -----

func.func @subtract_f64() {
  %a = stablehlo.constant dense<[1.5]> : tensor<1xf64>
  %b = stablehlo.constant dense<[0.25]> : tensor<1xf64>
  %y = stablehlo.subtract %a, %b : tensor<1xf64>
  check.expect_eq_const %y, dense<[1.25]> : tensor<1xf64>
  func.return
}
