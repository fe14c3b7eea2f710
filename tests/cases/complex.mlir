func.func @complex() {
  %re = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %im = stablehlo.constant dense<[3.0, -4.0]> : tensor<2xf32>
  %z = stablehlo.complex %re, %im : tensor<2xcomplex<f32>>
  check.expect_eq_const %z, dense<[(1.0, 3.0), (2.0, -4.0)]> : tensor<2xcomplex<f32>>
  %u = stablehlo.complex %re, %im : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xcomplex<f32>>)
  check.expect_eq %z, %u : tensor<2xcomplex<f32>>
  func.return
}
