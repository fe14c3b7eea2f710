func.func @reshape() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.reshape %x : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %z = stablehlo.reshape %y : (tensor<3x2xi32>) -> tensor<6xi32>
  check.expect_eq_const %y, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  check.expect_eq_const %z, dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  func.return
}
