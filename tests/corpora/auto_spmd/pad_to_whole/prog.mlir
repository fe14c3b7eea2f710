module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=8]> {stablehlo.mesh = {axes = [{name = "d", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<24x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<28x6xf32> {jax.result_info = "result[0]"}, tensor<28x6xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = call @_pad(%arg0, %c) : (tensor<24x6xf32>, tensor<i32>) -> tensor<28x6xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = call @_pad_0(%arg0, %c_0) : (tensor<24x6xf32>, tensor<i32>) -> tensor<28x6xf32>
    return %0, %1 : tensor<28x6xf32>, tensor<28x6xf32>
  }
  func.func private @_pad(%arg0: tensor<24x6xf32>, %arg1: tensor<i32>) -> tensor<28x6xf32> {
    %0 = stablehlo.slice %arg0 [0:1, 0:6] : (tensor<24x6xf32>) -> tensor<1x6xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2] : (tensor<1x6xf32>) -> tensor<1x2x6xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %3 = stablehlo.slice %arg0 [23:24, 0:6] : (tensor<24x6xf32>) -> tensor<1x6xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 2] : (tensor<1x6xf32>) -> tensor<1x2x6xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %6 = stablehlo.concatenate %2, %arg0, %5, dim = 0 : (tensor<2x6xf32>, tensor<24x6xf32>, tensor<2x6xf32>) -> tensor<28x6xf32>
    %7 = stablehlo.slice %6 [0:28, 0:1] : (tensor<28x6xf32>) -> tensor<28x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<28x1xf32>) -> tensor<28x1x0xf32>
    %9 = stablehlo.reshape %8 : (tensor<28x1x0xf32>) -> tensor<28x0xf32>
    %10 = stablehlo.slice %6 [0:28, 5:6] : (tensor<28x6xf32>) -> tensor<28x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<28x1xf32>) -> tensor<28x1x0xf32>
    %12 = stablehlo.reshape %11 : (tensor<28x1x0xf32>) -> tensor<28x0xf32>
    %13 = stablehlo.concatenate %9, %6, %12, dim = 1 : (tensor<28x0xf32>, tensor<28x6xf32>, tensor<28x0xf32>) -> tensor<28x6xf32>
    return %13 : tensor<28x6xf32>
  }
  func.func private @_pad_0(%arg0: tensor<24x6xf32>, %arg1: tensor<i32>) -> tensor<28x6xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [2, 0], high = [2, 0], interior = [0, 0] : (tensor<24x6xf32>, tensor<f32>) -> tensor<28x6xf32>
    return %1 : tensor<28x6xf32>
  }
}
