// A gradient in explicit mode: partial sums over an axis enter a manual computation that scatters their sum.
module @jit_f attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["seq"=2]> {stablehlo.mesh = {axes = [{name = "seq", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"seq"}, {}]>}, %arg1: tensor<2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"seq"}, {}]>}) -> (tensor<4x2xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"seq"}, {}]>}, tensor<2x6xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"seq"}, {}]>}) {
    %0 = call @f(%arg1) : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = sdy.sharding_constraint %cst <@mesh, []> : tensor<f32>
    %2:2 = call @f_0(%0, %arg0, %1) : (tensor<2x6xf32>, tensor<4x2xf32>, tensor<f32>) -> (tensor<4x2xf32>, tensor<2x6xf32>)
    return %2#0, %2#1 : tensor<4x2xf32>, tensor<2x6xf32>
  }
  func.func private @f(%arg0: tensor<2x6xf32>) -> tensor<2x6xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"seq"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"seq"} (%arg1: tensor<1x6xf32>) {
      %1 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<1x6xf32>) -> tensor<2x6xf32>
      sdy.return %1 : tensor<2x6xf32>
    } : (tensor<2x6xf32>) -> tensor<2x6xf32>
    return %0 : tensor<2x6xf32>
  }
  func.func private @f_0(%arg0: tensor<2x6xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<f32>) -> (tensor<4x2xf32>, tensor<2x6xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"seq"}, {}]> : tensor<4x6xf32>
    %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{}, {}], unreduced={"seq"}> : tensor<6x2xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<6x2xf32>) -> tensor<2x6xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{}, {}], unreduced={"seq"}> : tensor<2x6xf32>
    %6 = stablehlo.dot_general %1, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x6xf32>, tensor<2x6xf32>) -> tensor<4x2xf32>
    %7 = sdy.sharding_constraint %6 <@mesh, [{"seq"}, {}]> : tensor<4x2xf32>
    %8 = sdy.manual_computation(%5) in_shardings=[<@mesh, [{}, {}], unreduced={"seq"}>] out_shardings=[<@mesh, [{"seq"}, {}]>] manual_axes={"seq"} (%arg3: tensor<2x6xf32>) {
      %9 = "stablehlo.reduce_scatter"(%arg3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %10 = stablehlo.add %arg4, %arg5 : tensor<f32>
        stablehlo.return %10 : tensor<f32>
      }) : (tensor<2x6xf32>) -> tensor<1x6xf32>
      sdy.return %9 : tensor<1x6xf32>
    } : (tensor<2x6xf32>) -> tensor<2x6xf32>
    return %7, %8 : tensor<4x2xf32>, tensor<2x6xf32>
  }
}
