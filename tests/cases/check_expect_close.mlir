func.func @steps() {
  %a = stablehlo.constant dense<[1.0, 0x00000001]> : tensor<2xf32>
  %b = stablehlo.constant dense<[0x3F800002, 0x80000001]> : tensor<2xf32>
  check.expect_close %a, %b, max_ulp_difference = 2, min_ulp_difference = 2 : tensor<2xf32>, tensor<2xf32>
  func.return
}
