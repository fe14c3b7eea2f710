func.func @imag_cf32() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %y = stablehlo.imag %x : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  check.expect_eq_const %y, dense<[2.0]> : tensor<1xf32>
  func.return
}
