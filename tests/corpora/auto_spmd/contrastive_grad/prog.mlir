module @jit_clip attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=8]> {stablehlo.mesh = {axes = [{name = "d", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, %arg1: tensor<32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<32x8xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, tensor<32x8xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) {
    %0:2 = call @norm(%arg0) : (tensor<32x8xf32>) -> (tensor<32x1xf32>, tensor<32x1xf32>)
    %1 = stablehlo.broadcast_in_dim %0#0, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %2 = stablehlo.divide %arg0, %1 : tensor<32x8xf32>
    %3 = stablehlo.multiply %0#0, %0#0 : tensor<32x1xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %5 = stablehlo.divide %4, %3 : tensor<32x1xf32>
    %6:2 = call @norm(%arg1) : (tensor<32x8xf32>) -> (tensor<32x1xf32>, tensor<32x1xf32>)
    %7 = stablehlo.broadcast_in_dim %6#0, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %8 = stablehlo.divide %arg1, %7 : tensor<32x8xf32>
    %9 = stablehlo.multiply %6#0, %6#0 : tensor<32x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %11 = stablehlo.divide %10, %9 : tensor<32x1xf32>
    %12 = stablehlo.transpose %8, dims = [1, 0] : (tensor<32x8xf32>) -> tensor<8x32xf32>
    %13 = stablehlo.dot_general %2, %12, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x8xf32>, tensor<8x32xf32>) -> tensor<32x32xf32>
    %14:2 = call @log_softmax(%13) : (tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<1x32xf32>)
    %15:3 = call @_diag() : () -> (tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>)
    %16:2 = call @log_softmax_0(%13) : (tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x1xf32>)
    %17:3 = call @_diag() : () -> (tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>)
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.negate %cst_1 : tensor<f32>
    %cst_2 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %19 = stablehlo.divide %18, %cst_2 : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %21 = call @_diag_1(%17#0, %17#1, %17#2, %20) : (tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>, tensor<32xf32>) -> tensor<32x32xf32>
    %22 = call @log_softmax_3(%16#0, %16#1, %21) : (tensor<32x32xf32>, tensor<32x1xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %cst_3 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %23 = stablehlo.divide %18, %cst_3 : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %25 = call @_diag_1(%15#0, %15#1, %15#2, %24) : (tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>, tensor<32xf32>) -> tensor<32x32xf32>
    %26 = call @log_softmax_4(%14#0, %14#1, %25) : (tensor<32x32xf32>, tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %27 = stablehlo.add %22, %26 : tensor<32x32xf32>
    %28 = stablehlo.dot_general %27, %2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x32xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
    %29 = stablehlo.transpose %28, dims = [1, 0] : (tensor<32x8xf32>) -> tensor<8x32xf32>
    %30 = stablehlo.dot_general %27, %12, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x32xf32>, tensor<8x32xf32>) -> tensor<32x8xf32>
    %31 = stablehlo.transpose %29, dims = [1, 0] : (tensor<8x32xf32>) -> tensor<32x8xf32>
    %32 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %33 = stablehlo.multiply %31, %32 : tensor<32x8xf32>
    %34 = stablehlo.multiply %33, %arg1 : tensor<32x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.reduce(%34 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %36 = stablehlo.reshape %35 : (tensor<32xf32>) -> tensor<32x1xf32>
    %37 = stablehlo.negate %36 : tensor<32x1xf32>
    %38 = stablehlo.broadcast_in_dim %6#0, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %39 = stablehlo.divide %31, %38 : tensor<32x8xf32>
    %40 = call @norm_5(%arg1, %6#1, %37) : (tensor<32x8xf32>, tensor<32x1xf32>, tensor<32x1xf32>) -> tensor<32x8xf32>
    %41 = stablehlo.add %39, %40 : tensor<32x8xf32>
    %42 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %43 = stablehlo.multiply %30, %42 : tensor<32x8xf32>
    %44 = stablehlo.multiply %43, %arg0 : tensor<32x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.reduce(%44 init: %cst_5) applies stablehlo.add across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %46 = stablehlo.reshape %45 : (tensor<32xf32>) -> tensor<32x1xf32>
    %47 = stablehlo.negate %46 : tensor<32x1xf32>
    %48 = stablehlo.broadcast_in_dim %0#0, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %49 = stablehlo.divide %30, %48 : tensor<32x8xf32>
    %50 = call @norm_5(%arg0, %0#1, %47) : (tensor<32x8xf32>, tensor<32x1xf32>, tensor<32x1xf32>) -> tensor<32x8xf32>
    %51 = stablehlo.add %49, %50 : tensor<32x8xf32>
    return %51, %41 : tensor<32x8xf32>, tensor<32x8xf32>
  }
  func.func private @norm(%arg0: tensor<32x8xf32>) -> (tensor<32x1xf32>, tensor<32x1xf32>) {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<32x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %3 = stablehlo.sqrt %2 : tensor<32x1xf32>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %5 = stablehlo.divide %4, %3 : tensor<32x1xf32>
    return %3, %5 : tensor<32x1xf32>, tensor<32x1xf32>
  }
  func.func private @log_softmax(%arg0: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<1x32xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<32xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<32x32xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<32x32xf32>
    %6 = stablehlo.exponential %5 : tensor<32x32xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    return %6, %8 : tensor<32x32xf32>, tensor<1x32xf32>
  }
  func.func private @_diag() -> (tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>) {
    %0:3 = call @diagonal() : () -> (tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>)
    return %0#0, %0#1, %0#2 : tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>
  }
  func.func private @diagonal() -> (tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>) {
    %0 = stablehlo.iota dim = 0 : tensor<32x32xi32>
    %1 = stablehlo.iota dim = 1 : tensor<32x32xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %3 = stablehlo.add %0, %2 : tensor<32x32xi32>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %5 = stablehlo.convert %4 : (tensor<32x32xi1>) -> tensor<32x32xf32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %6 = "stablehlo.case"(%c_0) ({
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_1 : tensor<i32>
    }, {
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_1 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %7:2 = "stablehlo.case"(%6) ({
      %8 = stablehlo.iota dim = 0 : tensor<32xi32>
      %9 = stablehlo.iota dim = 0 : tensor<32xi32>
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %10 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<32xi32>
      %11 = stablehlo.compare LT, %8, %10, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
      %c_2 = stablehlo.constant dense<32> : tensor<i32>
      %12 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<32xi32>
      %13 = stablehlo.add %8, %12 : tensor<32xi32>
      %14 = stablehlo.select %11, %13, %8 : tensor<32xi1>, tensor<32xi32>
      %c_3 = stablehlo.constant dense<0> : tensor<i32>
      %15 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<32xi32>
      %16 = stablehlo.compare LT, %9, %15, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
      %c_4 = stablehlo.constant dense<32> : tensor<i32>
      %17 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<32xi32>
      %18 = stablehlo.add %9, %17 : tensor<32xi32>
      %19 = stablehlo.select %16, %18, %9 : tensor<32xi1>, tensor<32xi32>
      %20 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
      %21 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
      %22 = stablehlo.concatenate %20, %21, dim = 1 : (tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x2xi32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %23 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
      stablehlo.return %23, %22 : tensor<32x32xf32>, tensor<32x2xi32>
    }) : (tensor<i32>) -> (tensor<32x32xf32>, tensor<32x2xi32>)
    return %c_0, %7#0, %7#1 : tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>
  }
  func.func private @log_softmax_0(%arg0: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<32xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x32xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<32x32xf32>
    %6 = stablehlo.exponential %5 : tensor<32x32xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    return %6, %8 : tensor<32x32xf32>, tensor<32x1xf32>
  }
  func.func private @_diag_1(%arg0: tensor<i32>, %arg1: tensor<32x32xf32>, %arg2: tensor<32x2xi32>, %arg3: tensor<32xf32>) -> tensor<32x32xf32> {
    %0 = call @diagonal_2(%arg0, %arg1, %arg2, %arg3) : (tensor<i32>, tensor<32x32xf32>, tensor<32x2xi32>, tensor<32xf32>) -> tensor<32x32xf32>
    return %0 : tensor<32x32xf32>
  }
  func.func private @diagonal_2(%arg0: tensor<i32>, %arg1: tensor<32x32xf32>, %arg2: tensor<32x2xi32>, %arg3: tensor<32xf32>) -> tensor<32x32xf32> {
    %0 = "stablehlo.case"(%arg0) ({
      %c = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }, {
      %c = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
      %3 = "stablehlo.scatter"(%2, %arg2, %arg3) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %4 = stablehlo.add %arg4, %arg5 : tensor<f32>
        stablehlo.return %4 : tensor<f32>
      }) : (tensor<32x32xf32>, tensor<32x2xi32>, tensor<32xf32>) -> tensor<32x32xf32>
      stablehlo.return %3 : tensor<32x32xf32>
    }) : (tensor<i32>) -> tensor<32x32xf32>
    return %1 : tensor<32x32xf32>
  }
  func.func private @log_softmax_3(%arg0: tensor<32x32xf32>, %arg1: tensor<32x1xf32>, %arg2: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = stablehlo.negate %arg2 : tensor<32x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.reshape %1 : (tensor<32xf32>) -> tensor<32x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<32x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<32x1xf32>, tensor<f32>) -> tensor<32xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<32xf32>) -> tensor<32x32xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<32x32xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<32x32xf32>
    return %7 : tensor<32x32xf32>
  }
  func.func private @log_softmax_4(%arg0: tensor<32x32xf32>, %arg1: tensor<1x32xf32>, %arg2: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = stablehlo.negate %arg2 : tensor<32x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.reshape %1 : (tensor<32xf32>) -> tensor<1x32xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<1x32xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<32xf32>) -> tensor<32x32xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<32x32xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<32x32xf32>
    return %7 : tensor<32x32xf32>
  }
  func.func private @norm_5(%arg0: tensor<32x8xf32>, %arg1: tensor<32x1xf32>, %arg2: tensor<32x1xf32>) -> tensor<32x8xf32> {
    %0 = stablehlo.multiply %arg2, %arg1 : tensor<32x1xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<32x1xf32>, tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<32xf32>) -> tensor<32x8xf32>
    %3 = stablehlo.multiply %arg0, %2 : tensor<32x8xf32>
    %4 = stablehlo.multiply %2, %arg0 : tensor<32x8xf32>
    %5 = stablehlo.add %3, %4 : tensor<32x8xf32>
    return %5 : tensor<32x8xf32>
  }
}
