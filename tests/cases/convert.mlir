func.func @to_integers() {
  %x = stablehlo.constant dense<[-2.75, 0.5, 300.0]> : tensor<3xf32>
  %y = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xi32>
  %z = stablehlo.convert %y : (tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %y, dense<[-2, 0, 300]> : tensor<3xi32>
  check.expect_eq_const %z, dense<[true, false, true]> : tensor<3xi1>
  func.return
}

// -----

func.func @to_narrow_floats() {
  %x = stablehlo.constant dense<[1.0, 1.00390625, 3.0e38]> : tensor<3xf32>
  %y = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xbf16>
  %z = stablehlo.convert %y : (tensor<3xbf16>) -> tensor<3xf64>
  check.expect_eq_const %y, dense<[1.0, 1.0, 3.004e38]> : tensor<3xbf16>
  func.return
}
