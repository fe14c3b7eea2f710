// ----- dynamic_gather_c19
// EXPECT: 3:8 start_index_map lists 3
func.func @main(%x: tensor<3x4x2xi32>, %i: tensor<5x2xi64>, %s: tensor<3xi64>) -> tensor<5x?x?xi32> {
  %0 = "stablehlo.dynamic_gather"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0, 3], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<3x4x2xi32>, tensor<5x2xi64>, tensor<3xi64>) -> tensor<5x?x?xi32>
  return %0 : tensor<5x?x?xi32>
}
// ----- dynamic_gather_c22
// EXPECT: 3:8 dimension 0 of the result
func.func @main(%x: tensor<3x4x2xi32>, %i: tensor<5x2xi64>, %s: tensor<3xi64>) -> tensor<6x?x?xi32> {
  %0 = "stablehlo.dynamic_gather"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<3x4x2xi32>, tensor<5x2xi64>, tensor<3xi64>) -> tensor<6x?x?xi32>
  return %0 : tensor<6x?x?xi32>
}
// ----- dynamic_gather_c22_rank
// EXPECT: 3:8 declared as
func.func @main(%x: tensor<3x4x2xi32>, %i: tensor<5x2xi64>, %s: tensor<3xi64>) -> tensor<5x?xi32> {
  %0 = "stablehlo.dynamic_gather"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<3x4x2xi32>, tensor<5x2xi64>, tensor<3xi64>) -> tensor<5x?xi32>
  return %0 : tensor<5x?xi32>
}
// ----- dynamic_gather_c5
// EXPECT: 3:8 offset_dims lists 4
func.func @main(%x: tensor<3x4x2xi32>, %i: tensor<5x2xi64>, %s: tensor<3xi64>) -> tensor<5x?x?xi32> {
  %0 = "stablehlo.dynamic_gather"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 4], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<3x4x2xi32>, tensor<5x2xi64>, tensor<3xi64>) -> tensor<5x?x?xi32>
  return %0 : tensor<5x?x?xi32>
}
// ----- dynamic_gather_c8
// EXPECT: 3:8 collapsed_slice_dims lists 3
func.func @main(%x: tensor<3x4x2xi32>, %i: tensor<5x2xi64>, %s: tensor<3xi64>) -> tensor<5x?x?xi32> {
  %0 = "stablehlo.dynamic_gather"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [3], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<3x4x2xi32>, tensor<5x2xi64>, tensor<3xi64>) -> tensor<5x?x?xi32>
  return %0 : tensor<5x?x?xi32>
}
