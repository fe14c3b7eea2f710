func.func @not_i32() {
  %x = stablehlo.constant dense<[0, 5, -1]> : tensor<3xi32>
  %y = stablehlo.not %x : tensor<3xi32>
  check.expect_eq_const %y, dense<[-1, -6, 0]> : tensor<3xi32>
  func.return
}

// -----

func.func @not_i1() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %y = stablehlo.not %x : tensor<2xi1>
  check.expect_eq_const %y, dense<[false, true]> : tensor<2xi1>
  func.return
}
