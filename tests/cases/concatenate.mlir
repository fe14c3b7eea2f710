func.func @concatenate() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %b = stablehlo.constant dense<[[5], [6]]> : tensor<2x1xi64>
  %none = stablehlo.constant dense<> : tensor<2x0xi64>
  %y = stablehlo.concatenate %a, %none, %b, dim = 1 : (tensor<2x2xi64>, tensor<2x0xi64>, tensor<2x1xi64>) -> tensor<2x3xi64>
  check.expect_eq_const %y, dense<[[1, 2, 5], [3, 4, 6]]> : tensor<2x3xi64>
  func.return
}
