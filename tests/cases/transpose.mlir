func.func @transpose() {
  %x = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6]]]> : tensor<1x3x2xi32>
  %y = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<1x3x2xi32>) -> tensor<2x1x3xi32>
  check.expect_eq_const %y, dense<[[[1, 3, 5]], [[2, 4, 6]]]> : tensor<2x1x3xi32>
  func.return
}
