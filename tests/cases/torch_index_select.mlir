func.func @rows() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
  %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %y = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<3x2xi64>, tensor<2xi32>) -> tensor<2x2xi64>
  check.expect_eq_const %y, dense<[[5, 6], [1, 2]]> : tensor<2x2xi64>
  func.return
}

// -----

func.func @batches() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = stablehlo.constant dense<[[2, 0], [1, 1]]> : tensor<2x2xi32>
  %y = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 1 : i64}> : (tensor<2x3xi64>, tensor<2x2xi32>) -> tensor<2x2xi64>
  check.expect_eq_const %y, dense<[[3, 1], [5, 5]]> : tensor<2x2xi64>
  func.return
}
