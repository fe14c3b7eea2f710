module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=4, "m"=2]> {stablehlo.mesh = {axes = [{name = "d", size = 4 : i64}, {name = "m", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>}) -> (tensor<16x32xf32> {jax.result_info = "result"}) {
    %0 = call @_roll_static(%arg0) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    return %0 : tensor<16x32xf32>
  }
  func.func private @_roll_static(%arg0: tensor<16x32xf32>) -> tensor<16x32xf32> {
    %0 = stablehlo.slice %arg0 [14:16, 0:32] : (tensor<16x32xf32>) -> tensor<2x32xf32>
    %1 = stablehlo.slice %arg0 [0:14, 0:32] : (tensor<16x32xf32>) -> tensor<14x32xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2x32xf32>, tensor<14x32xf32>) -> tensor<16x32xf32>
    %3 = stablehlo.slice %2 [0:16, 27:32] : (tensor<16x32xf32>) -> tensor<16x5xf32>
    %4 = stablehlo.slice %2 [0:16, 0:27] : (tensor<16x32xf32>) -> tensor<16x27xf32>
    %5 = stablehlo.concatenate %3, %4, dim = 1 : (tensor<16x5xf32>, tensor<16x27xf32>) -> tensor<16x32xf32>
    return %5 : tensor<16x32xf32>
  }
}
