func.func @minimum_i32() {
  %a = stablehlo.constant dense<[1, -2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[0, 5]> : tensor<2xi32>
  %y = stablehlo.minimum %a, %b : tensor<2xi32>
  check.expect_eq_const %y, dense<[0, -2]> : tensor<2xi32>
  func.return
}

// -----

func.func @minimum_bf16() {
  %a = stablehlo.constant dense<[1.5]> : tensor<1xbf16>
  %b = stablehlo.constant dense<[-3.0]> : tensor<1xbf16>
  %y = stablehlo.minimum %a, %b : tensor<1xbf16>
  check.expect_eq_const %y, dense<[-3.0]> : tensor<1xbf16>
  func.return
}
