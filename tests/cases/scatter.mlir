func.func @adds() {
  %x = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[0], [2], [0], [7]]> : tensor<4x1xi64>
  %u = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %sum = stablehlo.add %old, %new : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
    indices_are_sorted = false, unique_indices = false
  } : (tensor<3xi32>, tensor<4x1xi64>, tensor<4xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[14, 20, 32]> : tensor<3xi32>
  func.return
}
