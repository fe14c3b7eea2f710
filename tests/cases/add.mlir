func.func @add_i8() {
  %a = stablehlo.constant dense<[127, -1]> : tensor<2xi8>
  %b = stablehlo.constant dense<[1, -1]> : tensor<2xi8>
  %y = stablehlo.add %a, %b : tensor<2xi8>
  check.expect_eq_const %y, dense<[-128, -2]> : tensor<2xi8>
  func.return
}

// -----

func.func @add_i1() {
  %a = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %b = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %y = stablehlo.add %a, %b : tensor<2xi1>
  check.expect_eq_const %y, dense<[true, true]> : tensor<2xi1>
  func.return
}

// -----

func.func @add_f16() {
  %a = stablehlo.constant dense<[1.0, 65504.0]> : tensor<2xf16>
  %b = stablehlo.constant dense<[0.5, -1.0]> : tensor<2xf16>
  %y = stablehlo.add %a, %b : tensor<2xf16>
  check.expect_eq_const %y, dense<[1.5, 65504.0]> : tensor<2xf16>
  func.return
}

// -----

func.func @add_cf32() {
  %a = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %b = stablehlo.constant dense<[(3.0, -5.0)]> : tensor<1xcomplex<f32>>
  %y = stablehlo.add %a, %b : tensor<1xcomplex<f32>>
  check.expect_eq_const %y, dense<[(4.0, -3.0)]> : tensor<1xcomplex<f32>>
  func.return
}
