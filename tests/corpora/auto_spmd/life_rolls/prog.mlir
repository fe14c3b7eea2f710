module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=4, "m"=2]> {stablehlo.mesh = {axes = [{name = "d", size = 4 : i64}, {name = "m", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<32x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>}) -> (tensor<32x32xi32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>}) {
    %0 = call @_roll_static(%arg0) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %1 = call @_roll_static_0(%0) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %3 = stablehlo.add %2, %1 : tensor<32x32xi32>
    %4 = call @_roll_static(%arg0) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %5 = call @_roll_static_1(%4) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %6 = stablehlo.add %3, %5 : tensor<32x32xi32>
    %7 = call @_roll_static(%arg0) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %8 = call @_roll_static_2(%7) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %9 = stablehlo.add %6, %8 : tensor<32x32xi32>
    %10 = call @_roll_static_3(%arg0) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %11 = call @_roll_static_0(%10) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %12 = stablehlo.add %9, %11 : tensor<32x32xi32>
    %13 = call @_roll_static_3(%arg0) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %14 = call @_roll_static_2(%13) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %15 = stablehlo.add %12, %14 : tensor<32x32xi32>
    %16 = call @_roll_static_4(%arg0) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %17 = call @_roll_static_0(%16) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %18 = stablehlo.add %15, %17 : tensor<32x32xi32>
    %19 = call @_roll_static_4(%arg0) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %20 = call @_roll_static_1(%19) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %21 = stablehlo.add %18, %20 : tensor<32x32xi32>
    %22 = call @_roll_static_4(%arg0) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %23 = call @_roll_static_2(%22) : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %24 = stablehlo.add %21, %23 : tensor<32x32xi32>
    %c_0 = stablehlo.constant dense<3> : tensor<i32>
    %25 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %26 = stablehlo.compare EQ, %24, %25, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %27 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %28 = stablehlo.compare EQ, %arg0, %27, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %c_2 = stablehlo.constant dense<2> : tensor<i32>
    %29 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %30 = stablehlo.compare EQ, %24, %29, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %31 = stablehlo.and %28, %30 : tensor<32x32xi1>
    %32 = stablehlo.or %26, %31 : tensor<32x32xi1>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %33 = call @_where(%32, %c_3, %c_4) : (tensor<32x32xi1>, tensor<i32>, tensor<i32>) -> tensor<32x32xi32>
    return %33 : tensor<32x32xi32>
  }
  func.func private @_roll_static(%arg0: tensor<32x32xi32>) -> tensor<32x32xi32> {
    %0 = stablehlo.slice %arg0 [1:32, 0:32] : (tensor<32x32xi32>) -> tensor<31x32xi32>
    %1 = stablehlo.slice %arg0 [0:1, 0:32] : (tensor<32x32xi32>) -> tensor<1x32xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<31x32xi32>, tensor<1x32xi32>) -> tensor<32x32xi32>
    return %2 : tensor<32x32xi32>
  }
  func.func private @_roll_static_0(%arg0: tensor<32x32xi32>) -> tensor<32x32xi32> {
    %0 = stablehlo.slice %arg0 [0:32, 1:32] : (tensor<32x32xi32>) -> tensor<32x31xi32>
    %1 = stablehlo.slice %arg0 [0:32, 0:1] : (tensor<32x32xi32>) -> tensor<32x1xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<32x31xi32>, tensor<32x1xi32>) -> tensor<32x32xi32>
    return %2 : tensor<32x32xi32>
  }
  func.func private @_roll_static_1(%arg0: tensor<32x32xi32>) -> tensor<32x32xi32> {
    %0 = stablehlo.slice %arg0 [0:32, 0:32] : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %1 = stablehlo.slice %arg0 [0:32, 0:0] : (tensor<32x32xi32>) -> tensor<32x0xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<32x32xi32>, tensor<32x0xi32>) -> tensor<32x32xi32>
    return %2 : tensor<32x32xi32>
  }
  func.func private @_roll_static_2(%arg0: tensor<32x32xi32>) -> tensor<32x32xi32> {
    %0 = stablehlo.slice %arg0 [0:32, 31:32] : (tensor<32x32xi32>) -> tensor<32x1xi32>
    %1 = stablehlo.slice %arg0 [0:32, 0:31] : (tensor<32x32xi32>) -> tensor<32x31xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<32x1xi32>, tensor<32x31xi32>) -> tensor<32x32xi32>
    return %2 : tensor<32x32xi32>
  }
  func.func private @_roll_static_3(%arg0: tensor<32x32xi32>) -> tensor<32x32xi32> {
    %0 = stablehlo.slice %arg0 [0:32, 0:32] : (tensor<32x32xi32>) -> tensor<32x32xi32>
    %1 = stablehlo.slice %arg0 [0:0, 0:32] : (tensor<32x32xi32>) -> tensor<0x32xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<32x32xi32>, tensor<0x32xi32>) -> tensor<32x32xi32>
    return %2 : tensor<32x32xi32>
  }
  func.func private @_roll_static_4(%arg0: tensor<32x32xi32>) -> tensor<32x32xi32> {
    %0 = stablehlo.slice %arg0 [31:32, 0:32] : (tensor<32x32xi32>) -> tensor<1x32xi32>
    %1 = stablehlo.slice %arg0 [0:31, 0:32] : (tensor<32x32xi32>) -> tensor<31x32xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x32xi32>, tensor<31x32xi32>) -> tensor<32x32xi32>
    return %2 : tensor<32x32xi32>
  }
  func.func private @_where(%arg0: tensor<32x32xi1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<32x32xi32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<32x32xi1>, tensor<32x32xi32>
    return %2 : tensor<32x32xi32>
  }
}
