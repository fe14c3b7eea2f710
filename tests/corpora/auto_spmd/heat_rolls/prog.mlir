module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=4, "m"=2]> {stablehlo.mesh = {axes = [{name = "d", size = 4 : i64}, {name = "m", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<32x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>}) -> (tensor<32x32xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<32x32xf32>
    cond {
      %c_1 = stablehlo.constant dense<5> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @closed_call(%iterArg_0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<32x32xf32>
    }
    return %0#1 : tensor<32x32xf32>
  }
  func.func private @closed_call(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = call @_roll_static(%arg0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %1 = call @_roll_static_0(%arg0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %2 = stablehlo.add %0, %1 : tensor<32x32xf32>
    %3 = call @_roll_static_1(%arg0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %4 = stablehlo.add %2, %3 : tensor<32x32xf32>
    %5 = call @_roll_static_2(%arg0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %6 = stablehlo.add %4, %5 : tensor<32x32xf32>
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %8 = stablehlo.multiply %7, %arg0 : tensor<32x32xf32>
    %9 = stablehlo.subtract %6, %8 : tensor<32x32xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<32x32xf32>
    %12 = stablehlo.add %arg0, %11 : tensor<32x32xf32>
    return %12 : tensor<32x32xf32>
  }
  func.func private @_roll_static(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = stablehlo.slice %arg0 [31:32, 0:32] : (tensor<32x32xf32>) -> tensor<1x32xf32>
    %1 = stablehlo.slice %arg0 [0:31, 0:32] : (tensor<32x32xf32>) -> tensor<31x32xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x32xf32>, tensor<31x32xf32>) -> tensor<32x32xf32>
    return %2 : tensor<32x32xf32>
  }
  func.func private @_roll_static_0(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = stablehlo.slice %arg0 [1:32, 0:32] : (tensor<32x32xf32>) -> tensor<31x32xf32>
    %1 = stablehlo.slice %arg0 [0:1, 0:32] : (tensor<32x32xf32>) -> tensor<1x32xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<31x32xf32>, tensor<1x32xf32>) -> tensor<32x32xf32>
    return %2 : tensor<32x32xf32>
  }
  func.func private @_roll_static_1(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = stablehlo.slice %arg0 [0:32, 31:32] : (tensor<32x32xf32>) -> tensor<32x1xf32>
    %1 = stablehlo.slice %arg0 [0:32, 0:31] : (tensor<32x32xf32>) -> tensor<32x31xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<32x1xf32>, tensor<32x31xf32>) -> tensor<32x32xf32>
    return %2 : tensor<32x32xf32>
  }
  func.func private @_roll_static_2(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = stablehlo.slice %arg0 [0:32, 1:32] : (tensor<32x32xf32>) -> tensor<32x31xf32>
    %1 = stablehlo.slice %arg0 [0:32, 0:1] : (tensor<32x32xf32>) -> tensor<32x1xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<32x31xf32>, tensor<32x1xf32>) -> tensor<32x32xf32>
    return %2 : tensor<32x32xf32>
  }
}
