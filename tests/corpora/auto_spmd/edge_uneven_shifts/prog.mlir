module @jit_edge_uneven_shifts attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=8]> {stablehlo.mesh = {axes = [{name = "d", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<12x7xui32>, %arg1: tensor<7xui32>) -> (tensor<12x7xui32> {jax.result_info = "result[0]"}, tensor<12x7xui32> {jax.result_info = "result[1]"}, tensor<12x7xi32> {jax.result_info = "result[2]"}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"d"}, {}]> : tensor<12x7xui32>
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{"d"}]> : tensor<7xui32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<7xui32>) -> tensor<1x7xui32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x7xui32>) -> tensor<12x7xui32>
    %4 = stablehlo.shift_left %0, %3 : tensor<12x7xui32>
    %5 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<7xui32>) -> tensor<1x7xui32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<1x7xui32>) -> tensor<12x7xui32>
    %7 = stablehlo.shift_right_logical %0, %6 : tensor<12x7xui32>
    %8 = stablehlo.or %4, %7 : tensor<12x7xui32>
    %9 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<7xui32>) -> tensor<1x7xui32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<1x7xui32>) -> tensor<12x7xui32>
    %11 = stablehlo.or %0, %10 : tensor<12x7xui32>
    %12 = stablehlo.popcnt %11 : tensor<12x7xui32>
    %13 = stablehlo.convert %0 : (tensor<12x7xui32>) -> tensor<12x7xi32>
    %c = stablehlo.constant dense<3> : tensor<i32>
    %14 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<12x7xi32>
    %15 = stablehlo.shift_right_arithmetic %13, %14 : tensor<12x7xi32>
    return %8, %12, %15 : tensor<12x7xui32>, tensor<12x7xui32>, tensor<12x7xi32>
  }
}
