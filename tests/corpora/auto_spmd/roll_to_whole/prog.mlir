module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=8]> {stablehlo.mesh = {axes = [{name = "d", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<16x6xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = call @_roll_static(%arg0) : (tensor<16x6xf32>) -> tensor<16x6xf32>
    return %0 : tensor<16x6xf32>
  }
  func.func private @_roll_static(%arg0: tensor<16x6xf32>) -> tensor<16x6xf32> {
    %0 = stablehlo.slice %arg0 [11:16, 0:6] : (tensor<16x6xf32>) -> tensor<5x6xf32>
    %1 = stablehlo.slice %arg0 [0:11, 0:6] : (tensor<16x6xf32>) -> tensor<11x6xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<5x6xf32>, tensor<11x6xf32>) -> tensor<16x6xf32>
    return %2 : tensor<16x6xf32>
  }
}
