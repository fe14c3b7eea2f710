func.func @pad() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %y = stablehlo.pad %x, %zero, low = [1, -1], high = [0, 2], interior = [1, 0] : (tensor<2x3xi64>, tensor<i64>) -> tensor<4x4xi64>
  check.expect_eq_const %y, dense<[[0, 0, 0, 0], [2, 3, 0, 0], [0, 0, 0, 0], [5, 6, 0, 0]]> : tensor<4x4xi64>
  func.return
}
