// Indices that count along the rows take from each row what is in it: nothing moves. Labels choose within a row.
// RUN: --mesh d=4,m=2 --sharding in0=d;in1=d;in2=d;out0=d;out1=d
// CHECK: 0 collectives
// RUN: --mesh d=4,m=2 --sharding in0=d,m;in1=d;in2=d;out0=d;out1=d,m
// CHECK: 1 collective, by which a process sends 16 bytes
module @labels {
  func.func @main(%x: tensor<16x10xf32>, %label: tensor<16xi32>, %u: tensor<16xf32>) -> (tensor<16xf32>, tensor<16x10xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<16xi32>
    %zero = stablehlo.constant dense<0> : tensor<16xi32>
    %size = stablehlo.constant dense<16> : tensor<16xi32>
    %1 = stablehlo.compare LT, %0, %zero : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %2 = stablehlo.add %0, %size : tensor<16xi32>
    %3 = stablehlo.select %1, %2, %0 : tensor<16xi1>, tensor<16xi32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
    %5 = stablehlo.reshape %label : (tensor<16xi32>) -> tensor<16x1xi32>
    %6 = stablehlo.concatenate %4, %5, dim = 1 : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x2xi32>
    %7 = "stablehlo.gather"(%x, %6) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<16x10xf32>, tensor<16x2xi32>) -> tensor<16xf32>
    %8 = "stablehlo.scatter"(%x, %6, %u) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>} : (tensor<16x10xf32>, tensor<16x2xi32>, tensor<16xf32>) -> tensor<16x10xf32>
    return %7, %8 : tensor<16xf32>, tensor<16x10xf32>
  }
}
