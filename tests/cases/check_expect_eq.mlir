func.func @zeros_of_both_signs() {
  %a = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  check.expect_eq_const %a, dense<[-0.0, 0.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @nothing() {
  %a = stablehlo.constant dense<> : tensor<0xi32>
  check.expect_eq %a, %a : tensor<0xi32>
  func.return
}
