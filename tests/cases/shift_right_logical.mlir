func.func @shift_right_logical_i8() {
  %a = stablehlo.constant dense<[-8, 8, -8]> : tensor<3xi8>
  %b = stablehlo.constant dense<[1, 1, 9]> : tensor<3xi8>
  %y = stablehlo.shift_right_logical %a, %b : tensor<3xi8>
  check.expect_eq_const %y, dense<[124, 4, 0]> : tensor<3xi8>
  func.return
}
