// Sizes as an operand.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %sizes = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %a = stablehlo.dynamic_reshape %x, %sizes : (tensor<2x3xi64>, tensor<2xi32>) -> tensor<3x2xi64>
  check.expect_eq_const %a, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
  %b = stablehlo.dynamic_reshape %x, %sizes : (tensor<2x3xi64>, tensor<2xi32>) -> tensor<?x?xi64>
  %rows = stablehlo.get_dimension_size %b, dim = 0 : (tensor<?x?xi64>) -> tensor<i32>
  check.expect_eq_const %rows, dense<3> : tensor<i32>
  %c = tensor.cast %b : tensor<?x?xi64> to tensor<3x2xi64>
  check.expect_eq_const %c, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
  func.return
}
