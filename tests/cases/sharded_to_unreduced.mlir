// A value that is cut becomes one that is to be summed: each partition puts its part among zeros, and nothing is sent
// before the sum of the two values.
module @jit_spread attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {}], unreduced={"x"}> : tensor<4x3xf32>
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{}, {}], unreduced={"x"}> : tensor<4x3xf32>
    %2 = stablehlo.add %0, %1 : tensor<4x3xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{}, {}], unreduced={"x"}> : tensor<4x3xf32>
    %4 = sdy.sharding_constraint %3 <@mesh, [{}, {}]> : tensor<4x3xf32>
    return %4 : tensor<4x3xf32>
  }
}
