// The groups of a convolution do not divide among the partitions, though the feature dimension can be cut.
module @uneven_groups attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=3]>
  func.func public @main(%arg0: tensor<2x9x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}, %arg1: tensor<2x1x4xf32>) -> (tensor<2x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}) {
    %0 = stablehlo.negate %arg0 : tensor<2x9x4xf32>
    %1 = stablehlo.convolution(%0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x9x4xf32>, tensor<2x1x4xf32>) -> tensor<2x8x4xf32>
    return %1 : tensor<2x8x4xf32>
  }
}
