func.func @arrays() {
  %low = stablehlo.constant dense<[1, 5, -5]> : tensor<3xi64>
  %x = stablehlo.constant dense<[2, 3, -1]> : tensor<3xi64>
  %high = stablehlo.constant dense<[3, 7, -3]> : tensor<3xi64>
  %y = stablehlo.clamp %low, %x, %high : tensor<3xi64>
  check.expect_eq_const %y, dense<[2, 5, -3]> : tensor<3xi64>
  func.return
}

// -----

func.func @scalar_bounds() {
  %low = stablehlo.constant dense<0.0> : tensor<f32>
  %x = stablehlo.constant dense<[-2.0, 0.5, 9.0]> : tensor<3xf32>
  %high = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.clamp %low, %x, %high : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %y, dense<[0.0, 0.5, 1.0]> : tensor<3xf32>
  func.return
}
