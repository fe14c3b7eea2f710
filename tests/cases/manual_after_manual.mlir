// A manual computation that takes what another one, over another axis, gives; a token has a sharding, too.
module @manual_after_manual attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = #sdy.mesh<["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
      %3 = stablehlo.reverse %arg1, dims = [0] : tensor<4x4xf32>
      sdy.return %3 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%arg1: tensor<8x2xf32>) {
      %3 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<8x2xf32>
      sdy.return %3 : tensor<8x2xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %token = stablehlo.after_all : !stablehlo.token
    %2 = sdy.sharding_constraint %token <@mesh, []> : !stablehlo.token
    return {sdy.sharding = #sdy.sharding_per_value<[]>} %1 : tensor<8x4xf32>
  }
}
