func.func @round_nearest_even_f32() {
  %x = stablehlo.constant dense<[-2.5, -0.5, 0.5, 1.5, 2.4]> : tensor<5xf32>
  %y = stablehlo.round_nearest_even %x : tensor<5xf32>
  check.expect_eq_const %y, dense<[-2.0, -0.0, 0.0, 2.0, 2.0]> : tensor<5xf32>
  func.return
}
