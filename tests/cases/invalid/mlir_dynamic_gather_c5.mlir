// EXPECT: 3:8 offset_dims lists 4
func.func @main(%x: tensor<3x4x2xi32>, %i: tensor<5x2xi64>, %s: tensor<3xi64>) -> tensor<5x?x?xi32> {
  %0 = "stablehlo.dynamic_gather"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 4], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<3x4x2xi32>, tensor<5x2xi64>, tensor<3xi64>) -> tensor<5x?x?xi32>
  return %0 : tensor<5x?x?xi32>
}
