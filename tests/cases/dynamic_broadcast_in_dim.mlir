// Result sizes come from an operand; sizes of 1 stretch, also where that shows only at run time.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3]]> : tensor<1x3xi64>
  %sizes = stablehlo.constant dense<[2, 3, 2]> : tensor<3xi64>
  %fixed = stablehlo.dynamic_broadcast_in_dim %x, %sizes, dims = [2, 1] : (tensor<1x3xi64>, tensor<3xi64>) -> tensor<2x3x2xi64>
  check.expect_eq_const %fixed, dense<[[[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [3, 3]]]> : tensor<2x3x2xi64>
  %one = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %open = stablehlo.dynamic_reshape %x, %one : (tensor<1x3xi64>, tensor<2xi32>) -> tensor<?x?xi64>
  %two = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %wide = stablehlo.dynamic_broadcast_in_dim %open, %two, dims = [0, 1] : (tensor<?x?xi64>, tensor<2xi32>) -> tensor<?x3xi64>
  %known = tensor.cast %wide : tensor<?x3xi64> to tensor<2x3xi64>
  check.expect_eq_const %known, dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi64>
  func.return
}
