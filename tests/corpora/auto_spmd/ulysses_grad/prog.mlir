module @ulysses_grad attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=4, "m"=2]> {stablehlo.mesh = {axes = [{name = "d", size = 4 : i64}, {name = "m", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<4x16x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}, {}, {}]>}, %arg1: tensor<4x16x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}, {}, {}]>}, %arg2: tensor<4x16x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}, {}, {}]>}) -> (tensor<4x16x4x8xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}, {}, {}]>}, tensor<4x16x4x8xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}, {}, {}]>}, tensor<4x16x4x8xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}, {}, {}]>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"d"}, {}, {"m"}, {}]> : tensor<4x16x4x8xf32>
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{"d"}, {}, {"m"}, {}]> : tensor<4x16x4x8xf32>
    %2 = sdy.sharding_constraint %arg2 <@mesh, [{"d"}, {}, {"m"}, {}]> : tensor<4x16x4x8xf32>
    %3 = stablehlo.dot_general %0, %1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x16x4x8xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x16x16xf32>
    %cst = stablehlo.constant dense<2.82842708> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x16x16xf32>
    %5 = stablehlo.divide %3, %4 : tensor<4x4x16x16xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x16x16xf32>, tensor<f32>) -> tensor<4x4x16xf32>
    %7 = stablehlo.reshape %6 : (tensor<4x4x16xf32>) -> tensor<4x4x16x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<4x4x16x1xf32>) -> tensor<4x4x16x16xf32>
    %9 = stablehlo.compare EQ, %5, %8, FLOAT : (tensor<4x4x16x16xf32>, tensor<4x4x16x16xf32>) -> tensor<4x4x16x16xi1>
    %10 = stablehlo.convert %9 : (tensor<4x4x16x16xi1>) -> tensor<4x4x16x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<4x4x16x16xf32>, tensor<f32>) -> tensor<4x4x16xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x4x16xf32>
    %13 = stablehlo.maximum %12, %6 : tensor<4x4x16xf32>
    %14 = stablehlo.compare EQ, %6, %13, FLOAT : (tensor<4x4x16xf32>, tensor<4x4x16xf32>) -> tensor<4x4x16xi1>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x4x16xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x4x16xf32>
    %17 = stablehlo.select %14, %15, %16 : tensor<4x4x16xi1>, tensor<4x4x16xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x4x16xf32>
    %19 = stablehlo.compare EQ, %18, %13, FLOAT : (tensor<4x4x16xf32>, tensor<4x4x16xf32>) -> tensor<4x4x16xi1>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x4x16xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x4x16xf32>
    %22 = stablehlo.select %19, %20, %21 : tensor<4x4x16xi1>, tensor<4x4x16xf32>
    %23 = stablehlo.divide %17, %22 : tensor<4x4x16xf32>
    %24 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<4x4x16xf32>) -> tensor<4x4x16x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<4x4x16x1xf32>) -> tensor<4x4x16x16xf32>
    %26 = stablehlo.subtract %5, %25 : tensor<4x4x16x16xf32>
    %27 = stablehlo.exponential %26 : tensor<4x4x16x16xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.reduce(%27 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<4x4x16x16xf32>, tensor<f32>) -> tensor<4x4x16xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<4x4x16xf32>) -> tensor<4x4x16x1xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3] : (tensor<4x4x16x1xf32>) -> tensor<4x4x16x16xf32>
    %31 = stablehlo.divide %27, %30 : tensor<4x4x16x16xf32>
    %32 = stablehlo.multiply %29, %29 : tensor<4x4x16x1xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x4x16x1xf32>
    %34 = stablehlo.divide %33, %32 : tensor<4x4x16x1xf32>
    %35 = stablehlo.dot_general %2, %31, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x16x4x8xf32>, tensor<4x4x16x16xf32>) -> tensor<4x4x8x16xf32>
    %36 = stablehlo.transpose %35, dims = [0, 3, 1, 2] : (tensor<4x4x8x16xf32>) -> tensor<4x16x4x8xf32>
    %37 = sdy.sharding_constraint %36 <@mesh, [{"d"}, {"m"}, {}, {}]> : tensor<4x16x4x8xf32>
    %38 = stablehlo.multiply %37, %37 : tensor<4x16x4x8xf32>
    %cst_10 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x16x4x8xf32>
    %40 = stablehlo.multiply %39, %37 : tensor<4x16x4x8xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%38 init: %cst_11) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<4x16x4x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x16x4x8xf32>
    %43 = stablehlo.multiply %42, %40 : tensor<4x16x4x8xf32>
    %44 = sdy.sharding_constraint %43 <@mesh, [{"d"}, {"m"}, {}, {}]> : tensor<4x16x4x8xf32>
    %45 = stablehlo.transpose %44, dims = [0, 2, 3, 1] : (tensor<4x16x4x8xf32>) -> tensor<4x4x8x16xf32>
    %46 = stablehlo.dot_general %45, %2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x16xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x16x16xf32>
    %47 = stablehlo.dot_general %45, %31, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x16xf32>, tensor<4x4x16x16xf32>) -> tensor<4x4x8x16xf32>
    %48 = stablehlo.transpose %47, dims = [0, 3, 1, 2] : (tensor<4x4x8x16xf32>) -> tensor<4x16x4x8xf32>
    %49 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2, 3] : (tensor<4x4x16x1xf32>) -> tensor<4x4x16x16xf32>
    %50 = stablehlo.multiply %46, %49 : tensor<4x4x16x16xf32>
    %51 = stablehlo.multiply %50, %27 : tensor<4x4x16x16xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = stablehlo.reduce(%51 init: %cst_13) applies stablehlo.add across dimensions = [3] : (tensor<4x4x16x16xf32>, tensor<f32>) -> tensor<4x4x16xf32>
    %53 = stablehlo.reshape %52 : (tensor<4x4x16xf32>) -> tensor<4x4x16x1xf32>
    %54 = stablehlo.negate %53 : tensor<4x4x16x1xf32>
    %55 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3] : (tensor<4x4x16x1xf32>) -> tensor<4x4x16x16xf32>
    %56 = stablehlo.divide %46, %55 : tensor<4x4x16x16xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %57 = stablehlo.reduce(%54 init: %cst_14) applies stablehlo.add across dimensions = [3] : (tensor<4x4x16x1xf32>, tensor<f32>) -> tensor<4x4x16xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2] : (tensor<4x4x16xf32>) -> tensor<4x4x16x16xf32>
    %59 = stablehlo.add %56, %58 : tensor<4x4x16x16xf32>
    %60 = stablehlo.multiply %59, %27 : tensor<4x4x16x16xf32>
    %cst_15 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<4x4x16x16xf32>
    %62 = stablehlo.divide %60, %61 : tensor<4x4x16x16xf32>
    %63 = stablehlo.dot_general %62, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x16x16xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x16x8xf32>
    %64 = stablehlo.transpose %63, dims = [0, 2, 1, 3] : (tensor<4x4x16x8xf32>) -> tensor<4x16x4x8xf32>
    %65 = stablehlo.dot_general %62, %1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x16x16xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x16x8xf32>
    %66 = stablehlo.transpose %65, dims = [0, 2, 1, 3] : (tensor<4x4x16x8xf32>) -> tensor<4x16x4x8xf32>
    %67 = sdy.sharding_constraint %48 <@mesh, [{"d"}, {}, {"m"}, {}]> : tensor<4x16x4x8xf32>
    %68 = sdy.sharding_constraint %64 <@mesh, [{"d"}, {}, {"m"}, {}]> : tensor<4x16x4x8xf32>
    %69 = sdy.sharding_constraint %66 <@mesh, [{"d"}, {}, {"m"}, {}]> : tensor<4x16x4x8xf32>
    return %69, %68, %67 : tensor<4x16x4x8xf32>, tensor<4x16x4x8xf32>, tensor<4x16x4x8xf32>
  }
}
