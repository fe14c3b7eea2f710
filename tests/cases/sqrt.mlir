func.func @sqrt_f16() {
  %x = stablehlo.constant dense<[4.0, 2.25]> : tensor<2xf16>
  %y = stablehlo.sqrt %x : tensor<2xf16>
  check.expect_eq_const %y, dense<[2.0, 1.5]> : tensor<2xf16>
  func.return
}
