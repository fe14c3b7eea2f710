module @jit_nested attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8x6xf32> {mhlo.sharding = "{devices=[2,2,2]<=[2,2,2]T(1,0,2)}"}) -> (tensor<4x4x6xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "unspecified_dims=[0,1,2]", mhlo.sharding = "{devices=[1,2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "unspecified_dims=[0,1,2]", mhlo.sharding = "{devices=[1,1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<4x8x6xf32>) -> tensor<4x4x6xf32>
    %2 = call @shmap_body(%1) : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {backend_config = "unspecified_dims=[0,1,2]", mhlo.sharding = "{devices=[1,1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {backend_config = "unspecified_dims=[0,1,2]", mhlo.sharding = "{replicated}"} : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    return %4 : tensor<4x4x6xf32>
  }
  func.func private @shmap_body(%arg0: tensor<4x4x6xf32>) -> (tensor<4x4x6xf32> {jax.result_info = "[None, None, None]"}) {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "unspecified_dims=[0,1,2]", mhlo.sharding = "{devices=[2,1,1,2,2]<=[2,2,2]T(1,0,2) last_tile_dims={manual, replicated}}"} : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "unspecified_dims=[0,1,2]", mhlo.sharding = "{devices=[1,1,1,4,2]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<4x4x6xf32>) -> tensor<2x4x6xf32>
    %2 = call @shmap_body_0(%1) : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {backend_config = "unspecified_dims=[0,1,2]", mhlo.sharding = "{devices=[1,1,1,4,2]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {backend_config = "unspecified_dims=[0,1,2]", mhlo.sharding = "{devices=[2,1,1,2,2]<=[2,2,2]T(1,0,2) last_tile_dims={manual, replicated}}"} : (tensor<2x4x6xf32>) -> tensor<4x4x6xf32>
    %5 = "stablehlo.all_reduce"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %6 = stablehlo.add %arg1, %arg2 : tensor<f32>
      %7 = stablehlo.custom_call @Sharding(%6) {backend_config = "", mhlo.sharding = "{devices=[2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<f32>) -> tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    return %5 : tensor<4x4x6xf32>
  }
  func.func private @shmap_body_0(%arg0: tensor<2x4x6xf32>) -> (tensor<2x4x6xf32> {jax.result_info = "[('y',), None, None]"}) {
    %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = stablehlo.add %arg1, %arg2 : tensor<f32>
      %4 = stablehlo.custom_call @Sharding(%3) {backend_config = "", mhlo.sharding = "{devices=[4,2]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<f32>) -> tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x6xf32>
    %2 = stablehlo.custom_call @Sharding(%1) {backend_config = "unspecified_dims=[0,1,2]", mhlo.sharding = "{devices=[1,1,1,4,2]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    return %2 : tensor<2x4x6xf32>
  }
}
