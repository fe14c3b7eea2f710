func.func @maximum_i32() {
  %a = stablehlo.constant dense<[1, -2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[0, 5]> : tensor<2xi32>
  %y = stablehlo.maximum %a, %b : tensor<2xi32>
  check.expect_eq_const %y, dense<[1, 5]> : tensor<2xi32>
  func.return
}

// -----

func.func @maximum_bf16() {
  %a = stablehlo.constant dense<[1.5]> : tensor<1xbf16>
  %b = stablehlo.constant dense<[-3.0]> : tensor<1xbf16>
  %y = stablehlo.maximum %a, %b : tensor<1xbf16>
  check.expect_eq_const %y, dense<[1.5]> : tensor<1xbf16>
  func.return
}
