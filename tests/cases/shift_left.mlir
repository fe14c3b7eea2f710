func.func @shift_left_i8() {
  %a = stablehlo.constant dense<[1, -1, 1]> : tensor<3xi8>
  %b = stablehlo.constant dense<[3, 2, 8]> : tensor<3xi8>
  %y = stablehlo.shift_left %a, %b : tensor<3xi8>
  check.expect_eq_const %y, dense<[8, -4, 0]> : tensor<3xi8>
  func.return
}
