// Slice sizes as an operand: constant, and computed.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi64>
  %at = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
  %sizes = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %a = "stablehlo.dynamic_gather"(%x, %at, %sizes) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  } : (tensor<3x3xi64>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x2xi64>
  check.expect_eq_const %a, dense<[[1, 2], [7, 8]]> : tensor<2x2xi64>
  %zero_one = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %more = stablehlo.add %sizes, %zero_one : tensor<2xi32>
  %b = "stablehlo.dynamic_gather"(%x, %at, %more) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  } : (tensor<3x3xi64>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x?xi64>
  %c = tensor.cast %b : tensor<2x?xi64> to tensor<2x3xi64>
  check.expect_eq_const %c, dense<[[1, 2, 3], [7, 8, 9]]> : tensor<2x3xi64>
  func.return
}
