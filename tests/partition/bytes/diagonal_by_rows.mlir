// RUN: --mesh d=4,m=2 --sharding in0=d;out0=d
// CHECK: 0 collectives
// RUN: --mesh d=4,m=2 --sharding in0=-,m;out0=m
// CHECK: 0 collectives
module @diagonal {
  func.func @main(%x: tensor<16x16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<16x2xi32>
    %1 = "stablehlo.gather"(%x, %0) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<16x16xf32>, tensor<16x2xi32>) -> tensor<16xf32>
    return %1 : tensor<16xf32>
  }
}
