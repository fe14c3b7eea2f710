func.func @rsqrt_f32() {
  %x = stablehlo.constant dense<[4.0, 0.25]> : tensor<2xf32>
  %y = stablehlo.rsqrt %x : tensor<2xf32>
  check.expect_eq_const %y, dense<[0.5, 2.0]> : tensor<2xf32>
  func.return
}
