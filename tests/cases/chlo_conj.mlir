func.func @conj_cf32() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %y = chlo.conj %x : tensor<1xcomplex<f32>> -> tensor<1xcomplex<f32>>
  check.expect_eq_const %y, dense<[(1.0, -2.0)]> : tensor<1xcomplex<f32>>
  func.return
}
