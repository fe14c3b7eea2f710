func.func @popcnt_i16() {
  %x = stablehlo.constant dense<[0, 1, -1, 127]> : tensor<4xi16>
  %y = stablehlo.popcnt %x : tensor<4xi16>
  check.expect_eq_const %y, dense<[0, 1, 16, 7]> : tensor<4xi16>
  func.return
}
