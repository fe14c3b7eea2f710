func.func @ceil_f32() {
  %x = stablehlo.constant dense<[-1.5, 0.25, 2.0]> : tensor<3xf32>
  %y = stablehlo.ceil %x : tensor<3xf32>
  check.expect_eq_const %y, dense<[-1.0, 1.0, 2.0]> : tensor<3xf32>
  func.return
}
