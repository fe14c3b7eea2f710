func.func @abs_i32() {
  %x = stablehlo.constant dense<[-7, 0, 7]> : tensor<3xi32>
  %y = stablehlo.abs %x : tensor<3xi32>
  check.expect_eq_const %y, dense<[7, 0, 7]> : tensor<3xi32>
  func.return
}

// -----

func.func @abs_bf16() {
  %x = stablehlo.constant dense<[-1.5, 2.25]> : tensor<2xbf16>
  %y = stablehlo.abs %x : tensor<2xbf16>
  check.expect_eq_const %y, dense<[1.5, 2.25]> : tensor<2xbf16>
  func.return
}

// -----

func.func @abs_cf32() {
  %x = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f32>>
  %y = stablehlo.abs %x : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  check.expect_eq_const %y, dense<[5.0]> : tensor<1xf32>
  func.return
}
