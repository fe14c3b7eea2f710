// A sharding on a branch is that of its result, not of what the branches capture; an edge may have one, too.
module @case_cut attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<8x4xf32>, %arg2: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = "stablehlo.case"(%arg0) ({
      %3 = stablehlo.add %arg1, %arg2 : tensor<8x4xf32>
      stablehlo.return %3 : tensor<8x4xf32>
    }, {
      stablehlo.return %arg2 : tensor<8x4xf32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xf32>
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{?}, {"y", ?}]> : tensor<8x4xf32>
    %2 = stablehlo.multiply %1, %1 : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
