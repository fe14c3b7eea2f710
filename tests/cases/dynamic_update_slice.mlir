func.func @clamped() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %u = stablehlo.constant dense<[[8, 9]]> : tensor<1x2xi32>
  %i = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.constant dense<7> : tensor<i32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<2x3xi32>, tensor<1x2xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>
  check.expect_eq_const %y, dense<[[1, 2, 3], [4, 8, 9]]> : tensor<2x3xi32>
  func.return
}
