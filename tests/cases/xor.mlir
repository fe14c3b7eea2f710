func.func @xor_i32() {
  %a = stablehlo.constant dense<[12, -1]> : tensor<2xi32>
  %b = stablehlo.constant dense<[10, 7]> : tensor<2xi32>
  %y = stablehlo.xor %a, %b : tensor<2xi32>
  check.expect_eq_const %y, dense<[6, -8]> : tensor<2xi32>
  func.return
}
