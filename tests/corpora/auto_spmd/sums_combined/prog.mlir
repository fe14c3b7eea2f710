module @sums_combined attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}, {name = "z", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}, %arg2: tensor<4x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}) -> (tensor<16x32xf32> {jax.result_info = "result[0][0]", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<32x16xf32> {jax.result_info = "result[0][1]", sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}, tensor<4x8x16xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}) {
    %0 = sdy.sharding_constraint %arg2 <@mesh, [{"x"}, {}, {}]> : tensor<4x8x16xf32>
    %1 = stablehlo.dot_general %0, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %2 = stablehlo.multiply %1, %1 : tensor<4x8x32xf32>
    %3 = stablehlo.multiply %2, %1 : tensor<4x8x32xf32>
    %4 = stablehlo.multiply %1, %1 : tensor<4x8x32xf32>
    %cst = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %6 = stablehlo.multiply %5, %4 : tensor<4x8x32xf32>
    %cst_0 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %8 = stablehlo.multiply %7, %3 : tensor<4x8x32xf32>
    %9 = stablehlo.add %1, %8 : tensor<4x8x32xf32>
    %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<4x8x32xf32>
    %12 = stablehlo.tanh %11 : tensor<4x8x32xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %14 = stablehlo.subtract %13, %12 : tensor<4x8x32xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %16 = stablehlo.add %15, %12 : tensor<4x8x32xf32>
    %cst_4 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %18 = stablehlo.multiply %17, %16 : tensor<4x8x32xf32>
    %19 = stablehlo.multiply %1, %18 : tensor<4x8x32xf32>
    %20 = stablehlo.dot_general %19, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
    %21 = stablehlo.add %20, %0 : tensor<4x8x16xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %22 = stablehlo.reduce(%21 init: %cst_5) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_6 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %25 = stablehlo.divide %23, %24 : tensor<4x8x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %27 = stablehlo.subtract %21, %26 : tensor<4x8x16xf32>
    %28 = stablehlo.sine %27 : tensor<4x8x16xf32>
    %29 = stablehlo.cosine %27 : tensor<4x8x16xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.reduce(%28 init: %cst_7) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<f32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %32 = stablehlo.multiply %31, %29 : tensor<4x8x16xf32>
    %33 = stablehlo.negate %32 : tensor<4x8x16xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.reduce(%33 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %35 = stablehlo.reshape %34 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_10 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %37 = stablehlo.divide %35, %36 : tensor<4x8x1xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.reduce(%37 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %40 = stablehlo.add %32, %39 : tensor<4x8x16xf32>
    %41 = stablehlo.dot_general %40, %19, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
    %42 = stablehlo.transpose %41, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %43 = stablehlo.dot_general %40, %arg1, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<32x16xf32>) -> tensor<4x8x32xf32>
    %44 = stablehlo.multiply %1, %43 : tensor<4x8x32xf32>
    %45 = stablehlo.multiply %43, %18 : tensor<4x8x32xf32>
    %cst_12 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %47 = stablehlo.multiply %46, %44 : tensor<4x8x32xf32>
    %48 = stablehlo.multiply %47, %14 : tensor<4x8x32xf32>
    %49 = stablehlo.multiply %48, %12 : tensor<4x8x32xf32>
    %50 = stablehlo.add %48, %49 : tensor<4x8x32xf32>
    %cst_13 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %52 = stablehlo.multiply %51, %50 : tensor<4x8x32xf32>
    %53 = stablehlo.add %45, %52 : tensor<4x8x32xf32>
    %cst_14 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %55 = stablehlo.multiply %54, %52 : tensor<4x8x32xf32>
    %56 = stablehlo.multiply %55, %6 : tensor<4x8x32xf32>
    %57 = stablehlo.add %53, %56 : tensor<4x8x32xf32>
    %58 = stablehlo.dot_general %57, %0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %59 = stablehlo.transpose %58, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %60 = stablehlo.dot_general %57, %arg0, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<16x32xf32>) -> tensor<4x8x16xf32>
    %61 = stablehlo.add %40, %60 : tensor<4x8x16xf32>
    %62 = sdy.sharding_constraint %61 <@mesh, [{"x"}, {}, {}]> : tensor<4x8x16xf32>
    return %59, %42, %62 : tensor<16x32xf32>, tensor<32x16xf32>, tensor<4x8x16xf32>
  }
}
