func.func @clamped() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = stablehlo.constant dense<-4> : tensor<i64>
  %j = stablehlo.constant dense<9> : tensor<i64>
  %y = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 2] : (tensor<2x3xi32>, tensor<i64>, tensor<i64>) -> tensor<1x2xi32>
  check.expect_eq_const %y, dense<[[2, 3]]> : tensor<1x2xi32>
  func.return
}
