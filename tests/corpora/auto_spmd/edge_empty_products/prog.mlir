module @jit_edge_empty_products attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=8]> {stablehlo.mesh = {axes = [{name = "d", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<0x4xf32>, %arg1: tensor<16x0xf32>, %arg2: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<16x4xf32> {jax.result_info = "result[0]"}, tensor<16x4xf32> {jax.result_info = "result[1]"}, tensor<4xf32> {jax.result_info = "result[2]"}, tensor<16x4xf32> {jax.result_info = "result[3]"}, tensor<0x4xf32> {jax.result_info = "result[4]"}, tensor<16x0xf32> {jax.result_info = "result[5]"}, tensor<0x4xf32> {jax.result_info = "result[6]"}, tensor<5x4xf32> {jax.result_info = "result[7]"}, tensor<0x4xf32> {jax.result_info = "result[8]"}, tensor<0x4xf32> {jax.result_info = "result[9]"}) {
    %0 = stablehlo.concatenate %arg0, %arg2, dim = 0 : (tensor<0x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<0x4xf32>
    %2 = stablehlo.dot_general %arg1, %1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x0xf32>, tensor<0x4xf32>) -> tensor<16x4xf32>
    %3 = stablehlo.add %2, %arg2 : tensor<16x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = stablehlo.concatenate %arg2, %arg1, dim = 1 : (tensor<16x4xf32>, tensor<16x0xf32>) -> tensor<16x4xf32>
    %6 = stablehlo.slice %arg2 [5:5, 0:4] : (tensor<16x4xf32>) -> tensor<0x4xf32>
    %7 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<0x4xf32>) -> tensor<4x0xf32>
    %8 = stablehlo.dot_general %arg2, %7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x4xf32>, tensor<4x0xf32>) -> tensor<16x0xf32>
    %9 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<16x0xf32>) -> tensor<0x16xf32>
    %10 = stablehlo.dot_general %9, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<0x16xf32>, tensor<16x4xf32>) -> tensor<0x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %11 = call @_pad(%arg0, %c) : (tensor<0x4xf32>, tensor<i32>) -> tensor<5x4xf32>
    %12 = call @cumsum(%arg0) : (tensor<0x4xf32>) -> tensor<0x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<0x16xf32>
    %14 = stablehlo.dot_general %13, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<0x16xf32>, tensor<16x4xf32>) -> tensor<0x4xf32>
    return %0, %3, %4, %5, %6, %8, %10, %11, %12, %14 : tensor<16x4xf32>, tensor<16x4xf32>, tensor<4xf32>, tensor<16x4xf32>, tensor<0x4xf32>, tensor<16x0xf32>, tensor<0x4xf32>, tensor<5x4xf32>, tensor<0x4xf32>, tensor<0x4xf32>
  }
  func.func private @_pad(%arg0: tensor<0x4xf32>, %arg1: tensor<i32>) -> tensor<5x4xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [2, 0], high = [3, 0], interior = [0, 0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<5x4xf32>
    return %1 : tensor<5x4xf32>
  }
  func.func private @cumsum(%arg0: tensor<0x4xf32>) -> tensor<0x4xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<0x4xf32>) -> tensor<0x4xf32>
    return %0 : tensor<0x4xf32>
  }
  func.func private @cumsum_0(%arg0: tensor<0x4xf32>) -> tensor<0x4xf32> {
    return %arg0 : tensor<0x4xf32>
  }
}
