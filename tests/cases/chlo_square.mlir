func.func @square_f32() {
  %x = stablehlo.constant dense<[-3.0, 0.5]> : tensor<2xf32>
  %y = chlo.square %x : tensor<2xf32> -> tensor<2xf32>
  check.expect_eq_const %y, dense<[9.0, 0.25]> : tensor<2xf32>
  func.return
}

// -----

func.func @square_cf32() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, -3.0)]> : tensor<2xcomplex<f32>>
  %y = chlo.square %x : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  check.expect_eq_const %y, dense<[(-3.0, 4.0), (0.0, -18.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @square_of_stablehlo() {
  %x = stablehlo.constant dense<[-3.0, 0.5]> : tensor<2xf64>
  %y = stablehlo.square %x : tensor<2xf64>
  check.expect_eq_const %y, dense<[9.0, 0.25]> : tensor<2xf64>
  func.return
}
