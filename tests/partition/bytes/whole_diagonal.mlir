// A diagonal that is wanted whole is one sum, to which each part contributes what it has.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;out0=-
// CHECK: 1 collective, by which a process sends 56 bytes
module @diagonal {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<8x2xi32>
    %1 = "stablehlo.gather"(%x, %0) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<8x8xf32>, tensor<8x2xi32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
