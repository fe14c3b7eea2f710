func.func @is_inf() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.0]> : tensor<4xf32>
  %either = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
  %above = chlo.is_pos_inf %x : tensor<4xf32> -> tensor<4xi1>
  %below = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %either, dense<[true, true, false, false]> : tensor<4xi1>
  check.expect_eq_const %above, dense<[true, false, false, false]> : tensor<4xi1>
  check.expect_eq_const %below, dense<[false, true, false, false]> : tensor<4xi1>
  func.return
}
