// HONEST: 2=s32[1]{2}
// LYING: 2=s32[1]{1000}
// LYING: 2=s32[1]{0}
// LYING: 2=s32[1]{-1}
// LYING: 2=s32[1]{2000}
module @m {
  func.func @main(%x: tensor<1000xf32>, %i: tensor<3x1xi32>, %s: tensor<1xi32>) -> tensor<3x2xf32> {
    %0 = "stablehlo.dynamic_gather"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<1000xf32>, tensor<3x1xi32>, tensor<1xi32>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
}
