// Sizes as an operand.
func.func @main() {
  %sizes = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %a = stablehlo.dynamic_iota %sizes, dim = 1 : (tensor<2xi64>) -> tensor<2x3xi32>
  check.expect_eq_const %a, dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
  %b = stablehlo.dynamic_iota %sizes, dim = 0 : (tensor<2xi64>) -> tensor<?x?xf32>
  %c = tensor.cast %b : tensor<?x?xf32> to tensor<2x3xf32>
  check.expect_eq_const %c, dense<[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]> : tensor<2x3xf32>
  func.return
}
