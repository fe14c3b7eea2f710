// Two gathers of all rows: the array is gathered once for both, where each could sum up what its parts have for as much.
// RUN: --mesh d=4,m=2 --sharding in0=d;in1=d;out0=d;out1=d
// CHECK: 1 collective, by which a process sends 3072 bytes
module @twice {
  func.func @main(%x: tensor<64x16xf32>, %i: tensor<64x1xi32>) -> (tensor<64x16xf32>, tensor<64x16xf32>) {
    %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>} : (tensor<64x16xf32>, tensor<64x1xi32>) -> tensor<64x16xf32>
    %1 = stablehlo.negate %i : tensor<64x1xi32>
    %2 = "stablehlo.gather"(%x, %1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>} : (tensor<64x16xf32>, tensor<64x1xi32>) -> tensor<64x16xf32>
    return %0, %2 : tensor<64x16xf32>, tensor<64x16xf32>
  }
}
