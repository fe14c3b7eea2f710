module @jit_f attributes {mhlo.num_partitions = 5 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=5]> {stablehlo.mesh = {axes = [{name = "d", size = 5 : i64}]}}
  func.func public @main(%arg0: tensor<15x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<10x3xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) {
    %0 = stablehlo.slice %arg0 [4:14, 0:3] : (tensor<15x3xf32>) -> tensor<10x3xf32>
    return %0 : tensor<10x3xf32>
  }
}
