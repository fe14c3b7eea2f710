func.func @iota() {
  %rows = stablehlo.iota dim = 0 : tensor<2x3xi32>
  %columns = stablehlo.iota dim = 1 : tensor<2x3xf16>
  check.expect_eq_const %rows, dense<[[0, 0, 0], [1, 1, 1]]> : tensor<2x3xi32>
  check.expect_eq_const %columns, dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf16>
  func.return
}
