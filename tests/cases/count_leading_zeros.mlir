func.func @count_leading_zeros_i16() {
  %x = stablehlo.constant dense<[0, 1, -1, 127]> : tensor<4xi16>
  %y = stablehlo.count_leading_zeros %x : tensor<4xi16>
  check.expect_eq_const %y, dense<[16, 15, 0, 9]> : tensor<4xi16>
  func.return
}
