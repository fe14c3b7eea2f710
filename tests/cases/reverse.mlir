func.func @reverse() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %y = stablehlo.reverse %x, dims = [0, 1] : tensor<3x2xi32>
  check.expect_eq_const %y, dense<[[6, 5], [4, 3], [2, 1]]> : tensor<3x2xi32>
  func.return
}
