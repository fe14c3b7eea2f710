func.func @rows() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = stablehlo.constant dense<[[2], [0], [9]]> : tensor<3x1xi64>
  %y = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 2>, indices_are_sorted = false
  } : (tensor<3x2xi32>, tensor<3x1xi64>) -> tensor<3x2xi32>
  check.expect_eq_const %y, dense<[[5, 6], [1, 2], [5, 6]]> : tensor<3x2xi32>
  func.return
}
