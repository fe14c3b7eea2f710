func.func @top_k() {
  %x = stablehlo.constant dense<[[3, 9, 9, 1], [-1, -2, -3, -4]]> : tensor<2x4xi32>
  %y:2 = chlo.top_k(%x, k = 2) : tensor<2x4xi32> -> (tensor<2x2xi32>, tensor<2x2xi32>)
  check.expect_eq_const %y#0, dense<[[9, 9], [-1, -2]]> : tensor<2x2xi32>
  check.expect_eq_const %y#1, dense<[[1, 2], [0, 1]]> : tensor<2x2xi32>
  func.return
}
