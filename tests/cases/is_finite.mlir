func.func @is_finite() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001]> : tensor<4xf32>
  %y = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %y, dense<[false, false, false, true]> : tensor<4xi1>
  func.return
}
