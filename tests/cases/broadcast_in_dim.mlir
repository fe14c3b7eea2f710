func.func @stretched() {
  %x = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %y = stablehlo.broadcast_in_dim %x, dims = [2, 1] : (tensor<2x1xi32>) -> tensor<2x3x2xi32>
  check.expect_eq_const %y, dense<[[[1, 2], [1, 2], [1, 2]], [[1, 2], [1, 2], [1, 2]]]> : tensor<2x3x2xi32>
  func.return
}

// -----

func.func @scalar() {
  %x = stablehlo.constant dense<7> : tensor<i32>
  %y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<7> : tensor<2x2xi32>
  func.return
}
