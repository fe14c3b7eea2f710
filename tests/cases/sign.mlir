func.func @sign_i64() {
  %x = stablehlo.constant dense<[-3, 0, 9]> : tensor<3xi64>
  %y = stablehlo.sign %x : tensor<3xi64>
  check.expect_eq_const %y, dense<[-1, 0, 1]> : tensor<3xi64>
  func.return
}

// -----

func.func @sign_f32() {
  %x = stablehlo.constant dense<[-3.0, 0.0, 9.5]> : tensor<3xf32>
  %y = stablehlo.sign %x : tensor<3xf32>
  check.expect_eq_const %y, dense<[-1.0, 0.0, 1.0]> : tensor<3xf32>
  func.return
}

// -----

func.func @sign_cf64() {
  %x = stablehlo.constant dense<[(3.0, 4.0), (0.0, 0.0)]> : tensor<2xcomplex<f64>>
  %y = stablehlo.sign %x : tensor<2xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.6, 0.8), (0.0, 0.0)]> : tensor<2xcomplex<f64>> {tolerance = 1.0e-15 : f64}
  func.return
}
