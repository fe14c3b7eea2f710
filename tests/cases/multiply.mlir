func.func @multiply_i8() {
  %a = stablehlo.constant dense<[100, -3]> : tensor<2xi8>
  %b = stablehlo.constant dense<[3, 5]> : tensor<2xi8>
  %y = stablehlo.multiply %a, %b : tensor<2xi8>
  check.expect_eq_const %y, dense<[44, -15]> : tensor<2xi8>
  func.return
}

// -----

func.func @multiply_i1() {
  %a = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %b = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %y = stablehlo.multiply %a, %b : tensor<2xi1>
  check.expect_eq_const %y, dense<[true, false]> : tensor<2xi1>
  func.return
}

// -----

func.func @multiply_cf32() {
  %a = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %b = stablehlo.constant dense<[(3.0, 4.0)]> : tensor<1xcomplex<f32>>
  %y = stablehlo.multiply %a, %b : tensor<1xcomplex<f32>>
  check.expect_eq_const %y, dense<[(-5.0, 10.0)]> : tensor<1xcomplex<f32>>
  func.return
}
