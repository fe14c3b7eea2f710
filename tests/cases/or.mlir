func.func @or_i32() {
  %a = stablehlo.constant dense<[12, 0]> : tensor<2xi32>
  %b = stablehlo.constant dense<[10, 7]> : tensor<2xi32>
  %y = stablehlo.or %a, %b : tensor<2xi32>
  check.expect_eq_const %y, dense<[14, 7]> : tensor<2xi32>
  func.return
}
