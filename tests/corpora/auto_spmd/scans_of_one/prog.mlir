module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=4, "m"=2]> {stablehlo.mesh = {axes = [{name = "d", size = 4 : i64}, {name = "m", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<24x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d", "m"}, {}]>}, %arg1: tensor<13x2xf32>) -> (tensor<24x3xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"d", "m"}, {}]>}, tensor<24x3xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"d", "m"}, {}]>}, tensor<24x3xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"d", "m"}, {}]>}, tensor<24x3xf32> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, [{"d", "m"}, {}]>}, tensor<24x3xf32> {jax.result_info = "result[4]", sdy.sharding = #sdy.sharding<@mesh, [{"d", "m"}, {}]>}, tensor<13x2xf32> {jax.result_info = "result[5]", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<13x2xf32> {jax.result_info = "result[6]", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<13x2xf32> {jax.result_info = "result[7]", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.sharding_constraint %arg1 <@mesh, [{"d", "m"}, {}]> : tensor<13x2xf32>
    %1 = call @cumsum(%arg0) : (tensor<24x3xf32>) -> tensor<24x3xf32>
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<24x3xf32>
    %3 = stablehlo.multiply %arg0, %2 : tensor<24x3xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<24x3xf32>
    %5 = stablehlo.add %4, %3 : tensor<24x3xf32>
    %6 = call @cumprod(%5) : (tensor<24x3xf32>) -> tensor<24x3xf32>
    %7 = call @cummax(%arg0) : (tensor<24x3xf32>) -> tensor<24x3xf32>
    %8 = call @cumsum_2(%arg0) : (tensor<24x3xf32>) -> tensor<24x3xf32>
    %9 = call @cummin(%arg0) : (tensor<24x3xf32>) -> tensor<24x3xf32>
    %10 = call @cummin_3(%0) : (tensor<13x2xf32>) -> tensor<13x2xf32>
    %11 = call @cumsum_4(%0) : (tensor<13x2xf32>) -> tensor<13x2xf32>
    %12 = call @cummax_6(%0) : (tensor<13x2xf32>) -> tensor<13x2xf32>
    return %1, %6, %7, %8, %9, %10, %11, %12 : tensor<24x3xf32>, tensor<24x3xf32>, tensor<24x3xf32>, tensor<24x3xf32>, tensor<24x3xf32>, tensor<13x2xf32>, tensor<13x2xf32>, tensor<13x2xf32>
  }
  func.func private @cumsum(%arg0: tensor<24x3xf32>) -> tensor<24x3xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<24x3xf32>) -> tensor<24x3xf32>
    return %0 : tensor<24x3xf32>
  }
  func.func private @cumsum_0(%arg0: tensor<24x3xf32>) -> tensor<24x3xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[23, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 24, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<24x3xf32>, tensor<f32>) -> tensor<24x3xf32>
    return %1 : tensor<24x3xf32>
  }
  func.func private @cumprod(%arg0: tensor<24x3xf32>) -> tensor<24x3xf32> {
    %0 = call @cumprod_1(%arg0) : (tensor<24x3xf32>) -> tensor<24x3xf32>
    return %0 : tensor<24x3xf32>
  }
  func.func private @cumprod_1(%arg0: tensor<24x3xf32>) -> tensor<24x3xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{base_dilations = array<i64: 1, 1>, padding = dense<[[23, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 24, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.multiply %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<24x3xf32>, tensor<f32>) -> tensor<24x3xf32>
    return %0 : tensor<24x3xf32>
  }
  func.func private @cummax(%arg0: tensor<24x3xf32>) -> tensor<24x3xf32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[23, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 24, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<24x3xf32>, tensor<f32>) -> tensor<24x3xf32>
    return %1 : tensor<24x3xf32>
  }
  func.func private @cumsum_2(%arg0: tensor<24x3xf32>) -> tensor<24x3xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 23], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 24, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<24x3xf32>, tensor<f32>) -> tensor<24x3xf32>
    return %1 : tensor<24x3xf32>
  }
  func.func private @cummin(%arg0: tensor<24x3xf32>) -> tensor<24x3xf32> {
    %cst = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[23, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 24, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.minimum %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<24x3xf32>, tensor<f32>) -> tensor<24x3xf32>
    return %1 : tensor<24x3xf32>
  }
  func.func private @cummin_3(%arg0: tensor<13x2xf32>) -> tensor<13x2xf32> {
    %cst = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[12, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 13, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.minimum %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<13x2xf32>, tensor<f32>) -> tensor<13x2xf32>
    return %1 : tensor<13x2xf32>
  }
  func.func private @cumsum_4(%arg0: tensor<13x2xf32>) -> tensor<13x2xf32> {
    %0 = call @cumsum_5(%arg0) : (tensor<13x2xf32>) -> tensor<13x2xf32>
    return %0 : tensor<13x2xf32>
  }
  func.func private @cumsum_5(%arg0: tensor<13x2xf32>) -> tensor<13x2xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[12, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 13, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<13x2xf32>, tensor<f32>) -> tensor<13x2xf32>
    return %1 : tensor<13x2xf32>
  }
  func.func private @cummax_6(%arg0: tensor<13x2xf32>) -> tensor<13x2xf32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 12], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 13, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<13x2xf32>, tensor<f32>) -> tensor<13x2xf32>
    return %1 : tensor<13x2xf32>
  }
}
