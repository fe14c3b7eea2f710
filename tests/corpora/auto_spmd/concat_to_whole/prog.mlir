module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=8]> {stablehlo.mesh = {axes = [{name = "d", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<24x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, %arg2: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<43x4xf32> {jax.result_info = "result[0]"}, tensor<2x8x4xf32> {jax.result_info = "result[1]"}, tensor<8x8xf32> {jax.result_info = "result[2]"}, tensor<8x4xf32> {jax.result_info = "result[3][0]"}, tensor<8x4xf32> {jax.result_info = "result[3][1]"}, tensor<8x4xf32> {jax.result_info = "result[3][2]"}) {
    %0 = stablehlo.slice %arg1 [0:3, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.concatenate %arg0, %0, %arg2, dim = 0 : (tensor<24x4xf32>, tensor<3x4xf32>, tensor<16x4xf32>) -> tensor<43x4xf32>
    %2 = stablehlo.slice %arg0 [0:8, 0:4] : (tensor<24x4xf32>) -> tensor<8x4xf32>
    %3 = stablehlo.slice %arg2 [0:8, 0:4] : (tensor<16x4xf32>) -> tensor<8x4xf32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [1, 2] : (tensor<8x4xf32>) -> tensor<1x8x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [1, 2] : (tensor<8x4xf32>) -> tensor<1x8x4xf32>
    %6 = stablehlo.concatenate %4, %5, dim = 0 : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<2x8x4xf32>
    %7 = stablehlo.slice %arg0 [0:8, 0:4] : (tensor<24x4xf32>) -> tensor<8x4xf32>
    %8 = call @atleast_1d(%7) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %9 = call @atleast_1d(%arg1) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %10 = stablehlo.concatenate %8, %9, dim = 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
    %11 = stablehlo.slice %arg0 [0:8, 0:4] : (tensor<24x4xf32>) -> tensor<8x4xf32>
    %12 = stablehlo.slice %arg0 [8:16, 0:4] : (tensor<24x4xf32>) -> tensor<8x4xf32>
    %13 = stablehlo.slice %arg0 [16:24, 0:4] : (tensor<24x4xf32>) -> tensor<8x4xf32>
    return %1, %6, %10, %11, %12, %13 : tensor<43x4xf32>, tensor<2x8x4xf32>, tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
  func.func private @atleast_1d(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    return %arg0 : tensor<8x4xf32>
  }
}
