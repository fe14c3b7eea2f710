func.func @slice() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi64>
  %y = stablehlo.slice %x [1:3, 0:4:3] : (tensor<3x4xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %y, dense<[[4, 7], [8, 11]]> : tensor<2x2xi64>
  func.return
}
