// A value that follows from positions alone, in one sharding group with an argument: it is returned cut as that is.
module @jit_alike attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x2xi32> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<16xi32>
    %1 = stablehlo.reshape %0 : (tensor<16xi32>) -> tensor<8x2xi32>
    sdy.sharding_group %arg0 group_id=0 : tensor<8x2xi32>
    sdy.sharding_group %1 group_id=0 : tensor<8x2xi32>
    return %1 : tensor<8x2xi32>
  }
}
