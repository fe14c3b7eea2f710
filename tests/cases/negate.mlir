func.func @negate_i8() {
  %x = stablehlo.constant dense<[1, -2, -128]> : tensor<3xi8>
  %y = stablehlo.negate %x : tensor<3xi8>
  check.expect_eq_const %y, dense<[-1, 2, -128]> : tensor<3xi8>
  func.return
}

// -----

func.func @negate_cf64() {
  %x = stablehlo.constant dense<[(1.0, -2.0)]> : tensor<1xcomplex<f64>>
  %y = stablehlo.negate %x : tensor<1xcomplex<f64>>
  check.expect_eq_const %y, dense<[(-1.0, 2.0)]> : tensor<1xcomplex<f64>>
  func.return
}
