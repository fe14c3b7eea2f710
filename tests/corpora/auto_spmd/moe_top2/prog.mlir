module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=8]> {stablehlo.mesh = {axes = [{name = "d", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, %arg1: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg2: tensor<8x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}, {}]>}, %arg3: tensor<8x32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}, {}]>}) -> (tensor<32x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %3 = stablehlo.maximum %2, %1 : tensor<32xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<32x8xf32>
    %7 = stablehlo.exponential %6 : tensor<32x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %11 = stablehlo.divide %7, %10 : tensor<32x8xf32>
    %values, %indices = chlo.top_k(%11, k = 2) : tensor<32x8xf32> -> (tensor<32x2xf32>, tensor<32x2xi32>)
    %12 = call @_one_hot(%indices) : (tensor<32x2xi32>) -> tensor<32x2x8xf32>
    %13 = stablehlo.reshape %12 : (tensor<32x2x8xf32>) -> tensor<64x8xf32>
    %14 = call @cumsum(%13) : (tensor<64x8xf32>) -> tensor<64x8xf32>
    %15 = stablehlo.reshape %14 : (tensor<64x8xf32>) -> tensor<32x2x8xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x2x8xf32>
    %17 = stablehlo.subtract %15, %16 : tensor<32x2x8xf32>
    %18 = stablehlo.multiply %17, %12 : tensor<32x2x8xf32>
    %cst_3 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<32x2x8xf32>
    %20 = stablehlo.compare LT, %18, %19, FLOAT : (tensor<32x2x8xf32>, tensor<32x2x8xf32>) -> tensor<32x2x8xi1>
    %21 = stablehlo.convert %20 : (tensor<32x2x8xi1>) -> tensor<32x2x8xf32>
    %22 = stablehlo.multiply %12, %21 : tensor<32x2x8xf32>
    %23 = stablehlo.convert %18 : (tensor<32x2x8xf32>) -> tensor<32x2x8xi32>
    %24 = call @_one_hot_1(%23) : (tensor<32x2x8xi32>) -> tensor<32x2x8x8xf32>
    %25 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<32x2x8xf32>) -> tensor<32x2x8x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<32x2x8x1xf32>) -> tensor<32x2x8x8xf32>
    %27 = stablehlo.multiply %24, %26 : tensor<32x2x8x8xf32>
    %28 = stablehlo.dot_general %22, %27, batching_dims = [0, 2] x [0, 2], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x2x8xf32>, tensor<32x2x8x8xf32>) -> tensor<32x8x8xf32>
    %29 = stablehlo.convert %18 : (tensor<32x2x8xf32>) -> tensor<32x2x8xi32>
    %30 = call @_one_hot_1(%29) : (tensor<32x2x8xi32>) -> tensor<32x2x8x8xf32>
    %31 = stablehlo.dot_general %values, %22, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<32x2xf32>, tensor<32x2x8xf32>) -> tensor<32x2x8xf32>
    %32 = stablehlo.dot_general %30, %31, batching_dims = [0, 2] x [0, 2], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x2x8x8xf32>, tensor<32x2x8xf32>) -> tensor<32x8x8xf32>
    %33 = stablehlo.dot_general %28, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x8x8xf32>, tensor<32x16xf32>) -> tensor<8x8x16xf32>
    %34 = stablehlo.dot_general %33, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x8x16xf32>, tensor<8x16x32xf32>) -> tensor<8x8x32xf32>
    %35 = call @relu(%34) : (tensor<8x8x32xf32>) -> tensor<8x8x32xf32>
    %36 = stablehlo.dot_general %35, %arg3, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x8x32xf32>, tensor<8x32x16xf32>) -> tensor<8x8x16xf32>
    %37 = stablehlo.dot_general %32, %36, contracting_dims = [2, 1] x [1, 0], precision = [DEFAULT, DEFAULT] : (tensor<32x8x8xf32>, tensor<8x8x16xf32>) -> tensor<32x16xf32>
    return %37 : tensor<32x16xf32>
  }
  func.func private @_one_hot(%arg0: tensor<32x2xi32>) -> tensor<32x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<32x2xi32>) -> tensor<32x2x1xi32>
    %1 = stablehlo.iota dim = 2 : tensor<1x1x8xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<32x2x1xi32>) -> tensor<32x2x8xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1x8xi32>) -> tensor<32x2x8xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<32x2x8xi32>, tensor<32x2x8xi32>) -> tensor<32x2x8xi1>
    %5 = stablehlo.convert %4 : (tensor<32x2x8xi1>) -> tensor<32x2x8xf32>
    return %5 : tensor<32x2x8xf32>
  }
  func.func private @cumsum(%arg0: tensor<64x8xf32>) -> tensor<64x8xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<64x8xf32>) -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
  func.func private @cumsum_0(%arg0: tensor<64x8xf32>) -> tensor<64x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[63, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 64, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x8xf32>
    return %1 : tensor<64x8xf32>
  }
  func.func private @_one_hot_1(%arg0: tensor<32x2x8xi32>) -> tensor<32x2x8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<32x2x8xi32>) -> tensor<32x2x8x1xi32>
    %1 = stablehlo.iota dim = 3 : tensor<1x1x1x8xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<32x2x8x1xi32>) -> tensor<32x2x8x8xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xi32>) -> tensor<32x2x8x8xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<32x2x8x8xi32>, tensor<32x2x8x8xi32>) -> tensor<32x2x8x8xi1>
    %5 = stablehlo.convert %4 : (tensor<32x2x8x8xi1>) -> tensor<32x2x8x8xf32>
    return %5 : tensor<32x2x8x8xf32>
  }
  func.func private @relu(%arg0: tensor<8x8x32xf32>) -> tensor<8x8x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8x32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<8x8x32xf32>
    return %1 : tensor<8x8x32xf32>
  }
}
