func.func @not_a_number_equals_itself() {
  %a = stablehlo.constant dense<[0x7FC00000, 0x7F800000, 1.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[0x7FC00000, 0x7F800000, 1.00005]> : tensor<3xf32>
  check.expect_almost_eq %a, %b : tensor<3xf32>
  check.expect_almost_eq %a, %b, tolerance = 0.5 : tensor<3xf32>
  check.expect_almost_eq_const %a, dense<[0x7FC00000, 0x7F800000, 1.2]> : tensor<3xf32>, tolerance = 0.5
  func.return
}
