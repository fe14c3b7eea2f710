module @jit_global_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x32xf32>, %arg1: tensor<32x32xf32>, %arg2: tensor<32x96xf32>, %arg3: tensor<32xf32>, %arg4: tensor<32xf32>, %arg5: tensor<32x128xf32>, %arg6: tensor<128x32xf32>, %arg7: tensor<32x32xf32>, %arg8: tensor<32x96xf32>, %arg9: tensor<32xf32>, %arg10: tensor<32xf32>, %arg11: tensor<32x128xf32>, %arg12: tensor<128x32xf32>, %arg13: tensor<32x32xf32>, %arg14: tensor<32x96xf32>, %arg15: tensor<32xf32>, %arg16: tensor<32xf32>, %arg17: tensor<32x128xf32>, %arg18: tensor<64x32xf32>, %arg19: tensor<32x32xf32>, %arg20: tensor<128x32xf32>, %arg21: tensor<32x32xf32>, %arg22: tensor<32x96xf32>, %arg23: tensor<32xf32>, %arg24: tensor<32xf32>, %arg25: tensor<32x128xf32>, %arg26: tensor<128x32xf32>, %arg27: tensor<32x32xf32>, %arg28: tensor<32x96xf32>, %arg29: tensor<32xf32>, %arg30: tensor<32xf32>, %arg31: tensor<32x128xf32>, %arg32: tensor<128x32xf32>, %arg33: tensor<32x32xf32>, %arg34: tensor<32x96xf32>, %arg35: tensor<32xf32>, %arg36: tensor<32xf32>, %arg37: tensor<32x128xf32>, %arg38: tensor<64x32xf32>, %arg39: tensor<32x32xf32>, %arg40: tensor<128x32xf32>, %arg41: tensor<32x32xf32>, %arg42: tensor<32x96xf32>, %arg43: tensor<32xf32>, %arg44: tensor<32xf32>, %arg45: tensor<32x128xf32>, %arg46: tensor<128x32xf32>, %arg47: tensor<32x32xf32>, %arg48: tensor<32x96xf32>, %arg49: tensor<32xf32>, %arg50: tensor<32xf32>, %arg51: tensor<32x128xf32>, %arg52: tensor<128x32xf32>, %arg53: tensor<32x32xf32>, %arg54: tensor<32x96xf32>, %arg55: tensor<32xf32>, %arg56: tensor<32xf32>, %arg57: tensor<32x128xf32>, %arg58: tensor<64x32xf32>, %arg59: tensor<32x32xf32>, %arg60: tensor<16x33xui8>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<128x32xf32> {jax.result_info = "result[1]['blocks'][0]['down']"}, tensor<32x32xf32> {jax.result_info = "result[1]['blocks'][0]['out']"}, tensor<32x96xf32> {jax.result_info = "result[1]['blocks'][0]['qkv']"}, tensor<32xf32> {jax.result_info = "result[1]['blocks'][0]['scale1']"}, tensor<32xf32> {jax.result_info = "result[1]['blocks'][0]['scale2']"}, tensor<32x128xf32> {jax.result_info = "result[1]['blocks'][0]['up']"}, tensor<128x32xf32> {jax.result_info = "result[1]['blocks'][1]['down']"}, tensor<32x32xf32> {jax.result_info = "result[1]['blocks'][1]['out']"}, tensor<32x96xf32> {jax.result_info = "result[1]['blocks'][1]['qkv']"}, tensor<32xf32> {jax.result_info = "result[1]['blocks'][1]['scale1']"}, tensor<32xf32> {jax.result_info = "result[1]['blocks'][1]['scale2']"}, tensor<32x128xf32> {jax.result_info = "result[1]['blocks'][1]['up']"}, tensor<128x32xf32> {jax.result_info = "result[1]['blocks'][2]['down']"}, tensor<32x32xf32> {jax.result_info = "result[1]['blocks'][2]['out']"}, tensor<32x96xf32> {jax.result_info = "result[1]['blocks'][2]['qkv']"}, tensor<32xf32> {jax.result_info = "result[1]['blocks'][2]['scale1']"}, tensor<32xf32> {jax.result_info = "result[1]['blocks'][2]['scale2']"}, tensor<32x128xf32> {jax.result_info = "result[1]['blocks'][2]['up']"}, tensor<64x32xf32> {jax.result_info = "result[1]['characters']"}, tensor<32x32xf32> {jax.result_info = "result[1]['places']"}, tensor<128x32xf32> {jax.result_info = "result[2]['blocks'][0]['down']"}, tensor<32x32xf32> {jax.result_info = "result[2]['blocks'][0]['out']"}, tensor<32x96xf32> {jax.result_info = "result[2]['blocks'][0]['qkv']"}, tensor<32xf32> {jax.result_info = "result[2]['blocks'][0]['scale1']"}, tensor<32xf32> {jax.result_info = "result[2]['blocks'][0]['scale2']"}, tensor<32x128xf32> {jax.result_info = "result[2]['blocks'][0]['up']"}, tensor<128x32xf32> {jax.result_info = "result[2]['blocks'][1]['down']"}, tensor<32x32xf32> {jax.result_info = "result[2]['blocks'][1]['out']"}, tensor<32x96xf32> {jax.result_info = "result[2]['blocks'][1]['qkv']"}, tensor<32xf32> {jax.result_info = "result[2]['blocks'][1]['scale1']"}, tensor<32xf32> {jax.result_info = "result[2]['blocks'][1]['scale2']"}, tensor<32x128xf32> {jax.result_info = "result[2]['blocks'][1]['up']"}, tensor<128x32xf32> {jax.result_info = "result[2]['blocks'][2]['down']"}, tensor<32x32xf32> {jax.result_info = "result[2]['blocks'][2]['out']"}, tensor<32x96xf32> {jax.result_info = "result[2]['blocks'][2]['qkv']"}, tensor<32xf32> {jax.result_info = "result[2]['blocks'][2]['scale1']"}, tensor<32xf32> {jax.result_info = "result[2]['blocks'][2]['scale2']"}, tensor<32x128xf32> {jax.result_info = "result[2]['blocks'][2]['up']"}, tensor<64x32xf32> {jax.result_info = "result[2]['characters']"}, tensor<32x32xf32> {jax.result_info = "result[2]['places']"}, tensor<128x32xf32> {jax.result_info = "result[3]['blocks'][0]['down']"}, tensor<32x32xf32> {jax.result_info = "result[3]['blocks'][0]['out']"}, tensor<32x96xf32> {jax.result_info = "result[3]['blocks'][0]['qkv']"}, tensor<32xf32> {jax.result_info = "result[3]['blocks'][0]['scale1']"}, tensor<32xf32> {jax.result_info = "result[3]['blocks'][0]['scale2']"}, tensor<32x128xf32> {jax.result_info = "result[3]['blocks'][0]['up']"}, tensor<128x32xf32> {jax.result_info = "result[3]['blocks'][1]['down']"}, tensor<32x32xf32> {jax.result_info = "result[3]['blocks'][1]['out']"}, tensor<32x96xf32> {jax.result_info = "result[3]['blocks'][1]['qkv']"}, tensor<32xf32> {jax.result_info = "result[3]['blocks'][1]['scale1']"}, tensor<32xf32> {jax.result_info = "result[3]['blocks'][1]['scale2']"}, tensor<32x128xf32> {jax.result_info = "result[3]['blocks'][1]['up']"}, tensor<128x32xf32> {jax.result_info = "result[3]['blocks'][2]['down']"}, tensor<32x32xf32> {jax.result_info = "result[3]['blocks'][2]['out']"}, tensor<32x96xf32> {jax.result_info = "result[3]['blocks'][2]['qkv']"}, tensor<32xf32> {jax.result_info = "result[3]['blocks'][2]['scale1']"}, tensor<32xf32> {jax.result_info = "result[3]['blocks'][2]['scale2']"}, tensor<32x128xf32> {jax.result_info = "result[3]['blocks'][2]['up']"}, tensor<64x32xf32> {jax.result_info = "result[3]['characters']"}, tensor<32x32xf32> {jax.result_info = "result[3]['places']"}) {
    %0 = stablehlo.convert %arg60 : (tensor<16x33xui8>) -> tensor<16x33xi32>
    %1 = call @_one_hot(%0) : (tensor<16x33xi32>) -> tensor<16x33x64xf32>
    %2 = stablehlo.slice %1 [0:16, 0:32, 0:64] : (tensor<16x33x64xf32>) -> tensor<16x32x64xf32>
    %3 = stablehlo.dot_general %2, %arg18, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x64xf32>, tensor<64x32xf32>) -> tensor<16x32x32xf32>
    %4 = stablehlo.broadcast_in_dim %arg19, dims = [1, 2] : (tensor<32x32xf32>) -> tensor<1x32x32xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<1x32x32xf32>) -> tensor<16x32x32xf32>
    %6 = stablehlo.add %3, %5 : tensor<16x32x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_0 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<16x32x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<16x32x32xf32>
    %13 = stablehlo.multiply %12, %12 : tensor<16x32x32xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x32x32xf32>
    %15 = stablehlo.multiply %14, %12 : tensor<16x32x32xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%13 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_3 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %19 = stablehlo.divide %17, %18 : tensor<16x32x1xf32>
    %20 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %21 = stablehlo.subtract %6, %20 : tensor<16x32x32xf32>
    %cst_4 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %23 = stablehlo.add %19, %22 : tensor<16x32x1xf32>
    %24 = stablehlo.rsqrt %23 : tensor<16x32x1xf32>
    %25 = stablehlo.divide %24, %23 : tensor<16x32x1xf32>
    %cst_5 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %27 = stablehlo.multiply %26, %25 : tensor<16x32x1xf32>
    %28 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %29 = stablehlo.multiply %21, %28 : tensor<16x32x32xf32>
    %30 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %32 = stablehlo.multiply %29, %31 : tensor<16x32x32xf32>
    %33 = stablehlo.dot_general %32, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x96xf32>) -> tensor<16x32x96xf32>
    %34 = stablehlo.slice %33 [0:16, 0:32, 0:32] : (tensor<16x32x96xf32>) -> tensor<16x32x32xf32>
    %35 = stablehlo.slice %33 [0:16, 0:32, 32:64] : (tensor<16x32x96xf32>) -> tensor<16x32x32xf32>
    %36 = stablehlo.slice %33 [0:16, 0:32, 64:96] : (tensor<16x32x96xf32>) -> tensor<16x32x32xf32>
    %37 = stablehlo.reshape %34 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %38 = stablehlo.transpose %37, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %39 = stablehlo.reshape %35 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %40 = stablehlo.transpose %39, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %41 = stablehlo.reshape %36 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %42 = stablehlo.transpose %41, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %43 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %44 = call @tril(%43) : (tensor<32x32xi1>) -> tensor<32x32xi1>
    %45 = stablehlo.transpose %40, dims = [0, 1, 3, 2] : (tensor<16x2x32x16xf32>) -> tensor<16x2x16x32xf32>
    %46 = stablehlo.dot_general %38, %45, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x16xf32>, tensor<16x2x16x32xf32>) -> tensor<16x2x32x32xf32>
    %cst_6 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x2x32x32xf32>
    %48 = stablehlo.divide %46, %47 : tensor<16x2x32x32xf32>
    %cst_7 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %49:2 = call @_where(%44, %48, %cst_7) : (tensor<32x32xi1>, tensor<16x2x32x32xf32>, tensor<f32>) -> (tensor<16x2x32x32xf32>, tensor<16x2x32x32xi1>)
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %50 = stablehlo.reduce(%49#0 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<16x2x32x32xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x2x32xf32>
    %52 = stablehlo.maximum %51, %50 : tensor<16x2x32xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1, 2] : (tensor<16x2x32xf32>) -> tensor<16x2x32x1xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %55 = stablehlo.subtract %49#0, %54 : tensor<16x2x32x32xf32>
    %56 = stablehlo.exponential %55 : tensor<16x2x32x32xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %57 = stablehlo.reduce(%56 init: %cst_10) applies stablehlo.add across dimensions = [3] : (tensor<16x2x32x32xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2] : (tensor<16x2x32xf32>) -> tensor<16x2x32x1xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %60 = stablehlo.divide %56, %59 : tensor<16x2x32x32xf32>
    %61 = stablehlo.multiply %58, %58 : tensor<16x2x32x1xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<16x2x32x1xf32>
    %63 = stablehlo.divide %62, %61 : tensor<16x2x32x1xf32>
    %64 = stablehlo.dot_general %60, %42, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x32xf32>, tensor<16x2x32x16xf32>) -> tensor<16x2x32x16xf32>
    %65 = stablehlo.transpose %64, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %66 = stablehlo.reshape %65 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %67 = stablehlo.dot_general %66, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x32xf32>) -> tensor<16x32x32xf32>
    %68 = stablehlo.add %6, %67 : tensor<16x32x32xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %69 = stablehlo.reduce(%68 init: %cst_12) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_13 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %72 = stablehlo.divide %70, %71 : tensor<16x32x1xf32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %74 = stablehlo.subtract %68, %73 : tensor<16x32x32xf32>
    %75 = stablehlo.multiply %74, %74 : tensor<16x32x32xf32>
    %cst_14 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<16x32x32xf32>
    %77 = stablehlo.multiply %76, %74 : tensor<16x32x32xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %78 = stablehlo.reduce(%75 init: %cst_15) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %79 = stablehlo.broadcast_in_dim %78, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_16 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %80 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %81 = stablehlo.divide %79, %80 : tensor<16x32x1xf32>
    %82 = stablehlo.broadcast_in_dim %72, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %83 = stablehlo.subtract %68, %82 : tensor<16x32x32xf32>
    %cst_17 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %85 = stablehlo.add %81, %84 : tensor<16x32x1xf32>
    %86 = stablehlo.rsqrt %85 : tensor<16x32x1xf32>
    %87 = stablehlo.divide %86, %85 : tensor<16x32x1xf32>
    %cst_18 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %88 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %89 = stablehlo.multiply %88, %87 : tensor<16x32x1xf32>
    %90 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %91 = stablehlo.multiply %83, %90 : tensor<16x32x32xf32>
    %92 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %93 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %94 = stablehlo.multiply %91, %93 : tensor<16x32x32xf32>
    %95 = stablehlo.dot_general %94, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x128xf32>) -> tensor<16x32x128xf32>
    %96 = stablehlo.multiply %95, %95 : tensor<16x32x128xf32>
    %97 = stablehlo.multiply %96, %95 : tensor<16x32x128xf32>
    %98 = stablehlo.multiply %95, %95 : tensor<16x32x128xf32>
    %cst_19 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %100 = stablehlo.multiply %99, %98 : tensor<16x32x128xf32>
    %cst_20 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %102 = stablehlo.multiply %101, %97 : tensor<16x32x128xf32>
    %103 = stablehlo.add %95, %102 : tensor<16x32x128xf32>
    %cst_21 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %105 = stablehlo.multiply %104, %103 : tensor<16x32x128xf32>
    %106 = stablehlo.tanh %105 : tensor<16x32x128xf32>
    %cst_22 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %107 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %108 = stablehlo.subtract %107, %106 : tensor<16x32x128xf32>
    %cst_23 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %109 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %110 = stablehlo.add %109, %106 : tensor<16x32x128xf32>
    %cst_24 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %111 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %112 = stablehlo.multiply %111, %110 : tensor<16x32x128xf32>
    %113 = stablehlo.multiply %95, %112 : tensor<16x32x128xf32>
    %114 = stablehlo.dot_general %113, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<128x32xf32>) -> tensor<16x32x32xf32>
    %115 = stablehlo.add %68, %114 : tensor<16x32x32xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %116 = stablehlo.reduce(%115 init: %cst_25) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %117 = stablehlo.broadcast_in_dim %116, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_26 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %118 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %119 = stablehlo.divide %117, %118 : tensor<16x32x1xf32>
    %120 = stablehlo.broadcast_in_dim %119, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %121 = stablehlo.subtract %115, %120 : tensor<16x32x32xf32>
    %122 = stablehlo.multiply %121, %121 : tensor<16x32x32xf32>
    %cst_27 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %123 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<16x32x32xf32>
    %124 = stablehlo.multiply %123, %121 : tensor<16x32x32xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %125 = stablehlo.reduce(%122 init: %cst_28) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %126 = stablehlo.broadcast_in_dim %125, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_29 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %127 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %128 = stablehlo.divide %126, %127 : tensor<16x32x1xf32>
    %129 = stablehlo.broadcast_in_dim %119, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %130 = stablehlo.subtract %115, %129 : tensor<16x32x32xf32>
    %cst_30 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %131 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %132 = stablehlo.add %128, %131 : tensor<16x32x1xf32>
    %133 = stablehlo.rsqrt %132 : tensor<16x32x1xf32>
    %134 = stablehlo.divide %133, %132 : tensor<16x32x1xf32>
    %cst_31 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %135 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %136 = stablehlo.multiply %135, %134 : tensor<16x32x1xf32>
    %137 = stablehlo.broadcast_in_dim %133, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %138 = stablehlo.multiply %130, %137 : tensor<16x32x32xf32>
    %139 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %140 = stablehlo.broadcast_in_dim %139, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %141 = stablehlo.multiply %138, %140 : tensor<16x32x32xf32>
    %142 = stablehlo.dot_general %141, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x96xf32>) -> tensor<16x32x96xf32>
    %143 = stablehlo.slice %142 [0:16, 0:32, 0:32] : (tensor<16x32x96xf32>) -> tensor<16x32x32xf32>
    %144 = stablehlo.slice %142 [0:16, 0:32, 32:64] : (tensor<16x32x96xf32>) -> tensor<16x32x32xf32>
    %145 = stablehlo.slice %142 [0:16, 0:32, 64:96] : (tensor<16x32x96xf32>) -> tensor<16x32x32xf32>
    %146 = stablehlo.reshape %143 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %147 = stablehlo.transpose %146, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %148 = stablehlo.reshape %144 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %149 = stablehlo.transpose %148, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %150 = stablehlo.reshape %145 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %151 = stablehlo.transpose %150, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %c_32 = stablehlo.constant dense<true> : tensor<i1>
    %152 = stablehlo.broadcast_in_dim %c_32, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %153 = call @tril(%152) : (tensor<32x32xi1>) -> tensor<32x32xi1>
    %154 = stablehlo.transpose %149, dims = [0, 1, 3, 2] : (tensor<16x2x32x16xf32>) -> tensor<16x2x16x32xf32>
    %155 = stablehlo.dot_general %147, %154, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x16xf32>, tensor<16x2x16x32xf32>) -> tensor<16x2x32x32xf32>
    %cst_33 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %156 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<16x2x32x32xf32>
    %157 = stablehlo.divide %155, %156 : tensor<16x2x32x32xf32>
    %cst_34 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %158:2 = call @_where(%153, %157, %cst_34) : (tensor<32x32xi1>, tensor<16x2x32x32xf32>, tensor<f32>) -> (tensor<16x2x32x32xf32>, tensor<16x2x32x32xi1>)
    %cst_35 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %159 = stablehlo.reduce(%158#0 init: %cst_35) applies stablehlo.maximum across dimensions = [3] : (tensor<16x2x32x32xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %cst_36 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %160 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<16x2x32xf32>
    %161 = stablehlo.maximum %160, %159 : tensor<16x2x32xf32>
    %162 = stablehlo.broadcast_in_dim %161, dims = [0, 1, 2] : (tensor<16x2x32xf32>) -> tensor<16x2x32x1xf32>
    %163 = stablehlo.broadcast_in_dim %162, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %164 = stablehlo.subtract %158#0, %163 : tensor<16x2x32x32xf32>
    %165 = stablehlo.exponential %164 : tensor<16x2x32x32xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %166 = stablehlo.reduce(%165 init: %cst_37) applies stablehlo.add across dimensions = [3] : (tensor<16x2x32x32xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %167 = stablehlo.broadcast_in_dim %166, dims = [0, 1, 2] : (tensor<16x2x32xf32>) -> tensor<16x2x32x1xf32>
    %168 = stablehlo.broadcast_in_dim %167, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %169 = stablehlo.divide %165, %168 : tensor<16x2x32x32xf32>
    %170 = stablehlo.multiply %167, %167 : tensor<16x2x32x1xf32>
    %cst_38 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %171 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<16x2x32x1xf32>
    %172 = stablehlo.divide %171, %170 : tensor<16x2x32x1xf32>
    %173 = stablehlo.dot_general %169, %151, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x32xf32>, tensor<16x2x32x16xf32>) -> tensor<16x2x32x16xf32>
    %174 = stablehlo.transpose %173, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %175 = stablehlo.reshape %174 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %176 = stablehlo.dot_general %175, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x32xf32>) -> tensor<16x32x32xf32>
    %177 = stablehlo.add %115, %176 : tensor<16x32x32xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %178 = stablehlo.reduce(%177 init: %cst_39) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %179 = stablehlo.broadcast_in_dim %178, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_40 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %180 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %181 = stablehlo.divide %179, %180 : tensor<16x32x1xf32>
    %182 = stablehlo.broadcast_in_dim %181, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %183 = stablehlo.subtract %177, %182 : tensor<16x32x32xf32>
    %184 = stablehlo.multiply %183, %183 : tensor<16x32x32xf32>
    %cst_41 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %185 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<16x32x32xf32>
    %186 = stablehlo.multiply %185, %183 : tensor<16x32x32xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %187 = stablehlo.reduce(%184 init: %cst_42) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %188 = stablehlo.broadcast_in_dim %187, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_43 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %189 = stablehlo.broadcast_in_dim %cst_43, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %190 = stablehlo.divide %188, %189 : tensor<16x32x1xf32>
    %191 = stablehlo.broadcast_in_dim %181, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %192 = stablehlo.subtract %177, %191 : tensor<16x32x32xf32>
    %cst_44 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %193 = stablehlo.broadcast_in_dim %cst_44, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %194 = stablehlo.add %190, %193 : tensor<16x32x1xf32>
    %195 = stablehlo.rsqrt %194 : tensor<16x32x1xf32>
    %196 = stablehlo.divide %195, %194 : tensor<16x32x1xf32>
    %cst_45 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %197 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %198 = stablehlo.multiply %197, %196 : tensor<16x32x1xf32>
    %199 = stablehlo.broadcast_in_dim %195, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %200 = stablehlo.multiply %192, %199 : tensor<16x32x32xf32>
    %201 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %202 = stablehlo.broadcast_in_dim %201, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %203 = stablehlo.multiply %200, %202 : tensor<16x32x32xf32>
    %204 = stablehlo.dot_general %203, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x128xf32>) -> tensor<16x32x128xf32>
    %205 = stablehlo.multiply %204, %204 : tensor<16x32x128xf32>
    %206 = stablehlo.multiply %205, %204 : tensor<16x32x128xf32>
    %207 = stablehlo.multiply %204, %204 : tensor<16x32x128xf32>
    %cst_46 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %208 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %209 = stablehlo.multiply %208, %207 : tensor<16x32x128xf32>
    %cst_47 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %210 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %211 = stablehlo.multiply %210, %206 : tensor<16x32x128xf32>
    %212 = stablehlo.add %204, %211 : tensor<16x32x128xf32>
    %cst_48 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %213 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %214 = stablehlo.multiply %213, %212 : tensor<16x32x128xf32>
    %215 = stablehlo.tanh %214 : tensor<16x32x128xf32>
    %cst_49 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %216 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %217 = stablehlo.subtract %216, %215 : tensor<16x32x128xf32>
    %cst_50 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %218 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %219 = stablehlo.add %218, %215 : tensor<16x32x128xf32>
    %cst_51 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %220 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %221 = stablehlo.multiply %220, %219 : tensor<16x32x128xf32>
    %222 = stablehlo.multiply %204, %221 : tensor<16x32x128xf32>
    %223 = stablehlo.dot_general %222, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<128x32xf32>) -> tensor<16x32x32xf32>
    %224 = stablehlo.add %177, %223 : tensor<16x32x32xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %225 = stablehlo.reduce(%224 init: %cst_52) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %226 = stablehlo.broadcast_in_dim %225, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_53 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %227 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %228 = stablehlo.divide %226, %227 : tensor<16x32x1xf32>
    %229 = stablehlo.broadcast_in_dim %228, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %230 = stablehlo.subtract %224, %229 : tensor<16x32x32xf32>
    %231 = stablehlo.multiply %230, %230 : tensor<16x32x32xf32>
    %cst_54 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %232 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<16x32x32xf32>
    %233 = stablehlo.multiply %232, %230 : tensor<16x32x32xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %234 = stablehlo.reduce(%231 init: %cst_55) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %235 = stablehlo.broadcast_in_dim %234, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_56 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %236 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %237 = stablehlo.divide %235, %236 : tensor<16x32x1xf32>
    %238 = stablehlo.broadcast_in_dim %228, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %239 = stablehlo.subtract %224, %238 : tensor<16x32x32xf32>
    %cst_57 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %240 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %241 = stablehlo.add %237, %240 : tensor<16x32x1xf32>
    %242 = stablehlo.rsqrt %241 : tensor<16x32x1xf32>
    %243 = stablehlo.divide %242, %241 : tensor<16x32x1xf32>
    %cst_58 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %244 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %245 = stablehlo.multiply %244, %243 : tensor<16x32x1xf32>
    %246 = stablehlo.broadcast_in_dim %242, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %247 = stablehlo.multiply %239, %246 : tensor<16x32x32xf32>
    %248 = stablehlo.broadcast_in_dim %arg15, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %249 = stablehlo.broadcast_in_dim %248, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %250 = stablehlo.multiply %247, %249 : tensor<16x32x32xf32>
    %251 = stablehlo.dot_general %250, %arg14, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x96xf32>) -> tensor<16x32x96xf32>
    %252 = stablehlo.slice %251 [0:16, 0:32, 0:32] : (tensor<16x32x96xf32>) -> tensor<16x32x32xf32>
    %253 = stablehlo.slice %251 [0:16, 0:32, 32:64] : (tensor<16x32x96xf32>) -> tensor<16x32x32xf32>
    %254 = stablehlo.slice %251 [0:16, 0:32, 64:96] : (tensor<16x32x96xf32>) -> tensor<16x32x32xf32>
    %255 = stablehlo.reshape %252 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %256 = stablehlo.transpose %255, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %257 = stablehlo.reshape %253 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %258 = stablehlo.transpose %257, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %259 = stablehlo.reshape %254 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %260 = stablehlo.transpose %259, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %c_59 = stablehlo.constant dense<true> : tensor<i1>
    %261 = stablehlo.broadcast_in_dim %c_59, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %262 = call @tril(%261) : (tensor<32x32xi1>) -> tensor<32x32xi1>
    %263 = stablehlo.transpose %258, dims = [0, 1, 3, 2] : (tensor<16x2x32x16xf32>) -> tensor<16x2x16x32xf32>
    %264 = stablehlo.dot_general %256, %263, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x16xf32>, tensor<16x2x16x32xf32>) -> tensor<16x2x32x32xf32>
    %cst_60 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %265 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<16x2x32x32xf32>
    %266 = stablehlo.divide %264, %265 : tensor<16x2x32x32xf32>
    %cst_61 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %267:2 = call @_where(%262, %266, %cst_61) : (tensor<32x32xi1>, tensor<16x2x32x32xf32>, tensor<f32>) -> (tensor<16x2x32x32xf32>, tensor<16x2x32x32xi1>)
    %cst_62 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %268 = stablehlo.reduce(%267#0 init: %cst_62) applies stablehlo.maximum across dimensions = [3] : (tensor<16x2x32x32xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %cst_63 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %269 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<16x2x32xf32>
    %270 = stablehlo.maximum %269, %268 : tensor<16x2x32xf32>
    %271 = stablehlo.broadcast_in_dim %270, dims = [0, 1, 2] : (tensor<16x2x32xf32>) -> tensor<16x2x32x1xf32>
    %272 = stablehlo.broadcast_in_dim %271, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %273 = stablehlo.subtract %267#0, %272 : tensor<16x2x32x32xf32>
    %274 = stablehlo.exponential %273 : tensor<16x2x32x32xf32>
    %cst_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %275 = stablehlo.reduce(%274 init: %cst_64) applies stablehlo.add across dimensions = [3] : (tensor<16x2x32x32xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %276 = stablehlo.broadcast_in_dim %275, dims = [0, 1, 2] : (tensor<16x2x32xf32>) -> tensor<16x2x32x1xf32>
    %277 = stablehlo.broadcast_in_dim %276, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %278 = stablehlo.divide %274, %277 : tensor<16x2x32x32xf32>
    %279 = stablehlo.multiply %276, %276 : tensor<16x2x32x1xf32>
    %cst_65 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %280 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<16x2x32x1xf32>
    %281 = stablehlo.divide %280, %279 : tensor<16x2x32x1xf32>
    %282 = stablehlo.dot_general %278, %260, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x32xf32>, tensor<16x2x32x16xf32>) -> tensor<16x2x32x16xf32>
    %283 = stablehlo.transpose %282, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %284 = stablehlo.reshape %283 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %285 = stablehlo.dot_general %284, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x32xf32>) -> tensor<16x32x32xf32>
    %286 = stablehlo.add %224, %285 : tensor<16x32x32xf32>
    %cst_66 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %287 = stablehlo.reduce(%286 init: %cst_66) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %288 = stablehlo.broadcast_in_dim %287, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_67 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %289 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %290 = stablehlo.divide %288, %289 : tensor<16x32x1xf32>
    %291 = stablehlo.broadcast_in_dim %290, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %292 = stablehlo.subtract %286, %291 : tensor<16x32x32xf32>
    %293 = stablehlo.multiply %292, %292 : tensor<16x32x32xf32>
    %cst_68 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %294 = stablehlo.broadcast_in_dim %cst_68, dims = [] : (tensor<f32>) -> tensor<16x32x32xf32>
    %295 = stablehlo.multiply %294, %292 : tensor<16x32x32xf32>
    %cst_69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %296 = stablehlo.reduce(%293 init: %cst_69) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %297 = stablehlo.broadcast_in_dim %296, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_70 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %298 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %299 = stablehlo.divide %297, %298 : tensor<16x32x1xf32>
    %300 = stablehlo.broadcast_in_dim %290, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %301 = stablehlo.subtract %286, %300 : tensor<16x32x32xf32>
    %cst_71 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %302 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %303 = stablehlo.add %299, %302 : tensor<16x32x1xf32>
    %304 = stablehlo.rsqrt %303 : tensor<16x32x1xf32>
    %305 = stablehlo.divide %304, %303 : tensor<16x32x1xf32>
    %cst_72 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %306 = stablehlo.broadcast_in_dim %cst_72, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %307 = stablehlo.multiply %306, %305 : tensor<16x32x1xf32>
    %308 = stablehlo.broadcast_in_dim %304, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %309 = stablehlo.multiply %301, %308 : tensor<16x32x32xf32>
    %310 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %311 = stablehlo.broadcast_in_dim %310, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %312 = stablehlo.multiply %309, %311 : tensor<16x32x32xf32>
    %313 = stablehlo.dot_general %312, %arg17, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x128xf32>) -> tensor<16x32x128xf32>
    %314 = stablehlo.multiply %313, %313 : tensor<16x32x128xf32>
    %315 = stablehlo.multiply %314, %313 : tensor<16x32x128xf32>
    %316 = stablehlo.multiply %313, %313 : tensor<16x32x128xf32>
    %cst_73 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %317 = stablehlo.broadcast_in_dim %cst_73, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %318 = stablehlo.multiply %317, %316 : tensor<16x32x128xf32>
    %cst_74 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %319 = stablehlo.broadcast_in_dim %cst_74, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %320 = stablehlo.multiply %319, %315 : tensor<16x32x128xf32>
    %321 = stablehlo.add %313, %320 : tensor<16x32x128xf32>
    %cst_75 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %322 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %323 = stablehlo.multiply %322, %321 : tensor<16x32x128xf32>
    %324 = stablehlo.tanh %323 : tensor<16x32x128xf32>
    %cst_76 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %325 = stablehlo.broadcast_in_dim %cst_76, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %326 = stablehlo.subtract %325, %324 : tensor<16x32x128xf32>
    %cst_77 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %327 = stablehlo.broadcast_in_dim %cst_77, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %328 = stablehlo.add %327, %324 : tensor<16x32x128xf32>
    %cst_78 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %329 = stablehlo.broadcast_in_dim %cst_78, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %330 = stablehlo.multiply %329, %328 : tensor<16x32x128xf32>
    %331 = stablehlo.multiply %313, %330 : tensor<16x32x128xf32>
    %332 = stablehlo.dot_general %331, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<128x32xf32>) -> tensor<16x32x32xf32>
    %333 = stablehlo.add %286, %332 : tensor<16x32x32xf32>
    %334 = stablehlo.transpose %arg18, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %335 = stablehlo.dot_general %333, %334, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x64xf32>) -> tensor<16x32x64xf32>
    %336:3 = call @log_softmax(%335) : (tensor<16x32x64xf32>) -> (tensor<16x32x64xf32>, tensor<16x32x64xf32>, tensor<16x32x1xf32>)
    %337 = stablehlo.slice %1 [0:16, 1:33, 0:64] : (tensor<16x33x64xf32>) -> tensor<16x32x64xf32>
    %338 = stablehlo.multiply %336#0, %337 : tensor<16x32x64xf32>
    %cst_79 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %339 = stablehlo.reduce(%338 init: %cst_79) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x32x64xf32>, tensor<f32>) -> tensor<f32>
    %340 = stablehlo.negate %339 : tensor<f32>
    %cst_80 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %341 = stablehlo.divide %340, %cst_80 : tensor<f32>
    %cst_81 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_82 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %342 = stablehlo.divide %cst_81, %cst_82 : tensor<f32>
    %343 = stablehlo.negate %342 : tensor<f32>
    %344 = stablehlo.broadcast_in_dim %343, dims = [] : (tensor<f32>) -> tensor<16x32x64xf32>
    %345 = stablehlo.multiply %344, %337 : tensor<16x32x64xf32>
    %346 = call @log_softmax_0(%336#1, %336#2, %345) : (tensor<16x32x64xf32>, tensor<16x32x1xf32>, tensor<16x32x64xf32>) -> tensor<16x32x64xf32>
    %347 = stablehlo.dot_general %346, %333, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x64xf32>, tensor<16x32x32xf32>) -> tensor<64x32xf32>
    %348 = stablehlo.transpose %347, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %349 = stablehlo.dot_general %346, %334, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x64xf32>, tensor<32x64xf32>) -> tensor<16x32x32xf32>
    %350 = stablehlo.transpose %348, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %351 = stablehlo.dot_general %349, %331, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<16x32x128xf32>) -> tensor<32x128xf32>
    %352 = stablehlo.transpose %351, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %353 = stablehlo.dot_general %349, %arg12, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<128x32xf32>) -> tensor<16x32x128xf32>
    %354 = stablehlo.multiply %313, %353 : tensor<16x32x128xf32>
    %355 = stablehlo.multiply %353, %330 : tensor<16x32x128xf32>
    %cst_83 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %356 = stablehlo.broadcast_in_dim %cst_83, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %357 = stablehlo.multiply %356, %354 : tensor<16x32x128xf32>
    %358 = stablehlo.multiply %357, %326 : tensor<16x32x128xf32>
    %359 = stablehlo.multiply %358, %324 : tensor<16x32x128xf32>
    %360 = stablehlo.add %358, %359 : tensor<16x32x128xf32>
    %cst_84 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %361 = stablehlo.broadcast_in_dim %cst_84, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %362 = stablehlo.multiply %361, %360 : tensor<16x32x128xf32>
    %363 = stablehlo.add %355, %362 : tensor<16x32x128xf32>
    %cst_85 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %364 = stablehlo.broadcast_in_dim %cst_85, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %365 = stablehlo.multiply %364, %362 : tensor<16x32x128xf32>
    %366 = stablehlo.multiply %365, %318 : tensor<16x32x128xf32>
    %367 = stablehlo.add %363, %366 : tensor<16x32x128xf32>
    %368 = stablehlo.dot_general %367, %312, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<16x32x32xf32>) -> tensor<128x32xf32>
    %369 = stablehlo.transpose %368, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %370 = stablehlo.dot_general %367, %arg17, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<32x128xf32>) -> tensor<16x32x32xf32>
    %371 = stablehlo.multiply %309, %370 : tensor<16x32x32xf32>
    %cst_86 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %372 = stablehlo.reduce(%371 init: %cst_86) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %373 = stablehlo.reshape %372 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %374 = stablehlo.broadcast_in_dim %310, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %375 = stablehlo.multiply %370, %374 : tensor<16x32x32xf32>
    %cst_87 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %376 = stablehlo.reduce(%373 init: %cst_87) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %377 = stablehlo.multiply %301, %375 : tensor<16x32x32xf32>
    %cst_88 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %378 = stablehlo.reduce(%377 init: %cst_88) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %379 = stablehlo.reshape %378 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %380 = stablehlo.broadcast_in_dim %304, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %381 = stablehlo.multiply %375, %380 : tensor<16x32x32xf32>
    %382 = stablehlo.multiply %379, %307 : tensor<16x32x1xf32>
    %383 = stablehlo.negate %381 : tensor<16x32x32xf32>
    %cst_89 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %384 = stablehlo.reduce(%383 init: %cst_89) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %385 = stablehlo.reshape %384 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %386 = stablehlo.add %349, %381 : tensor<16x32x32xf32>
    %cst_90 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %387 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %388 = stablehlo.divide %382, %387 : tensor<16x32x1xf32>
    %cst_91 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %389 = stablehlo.reduce(%388 init: %cst_91) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %390 = stablehlo.broadcast_in_dim %389, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %391 = stablehlo.multiply %390, %295 : tensor<16x32x32xf32>
    %392 = stablehlo.negate %391 : tensor<16x32x32xf32>
    %cst_92 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %393 = stablehlo.reduce(%392 init: %cst_92) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %394 = stablehlo.reshape %393 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %395 = stablehlo.add %386, %391 : tensor<16x32x32xf32>
    %396 = stablehlo.add %385, %394 : tensor<16x32x1xf32>
    %cst_93 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %397 = stablehlo.broadcast_in_dim %cst_93, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %398 = stablehlo.divide %396, %397 : tensor<16x32x1xf32>
    %cst_94 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %399 = stablehlo.reduce(%398 init: %cst_94) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %400 = stablehlo.broadcast_in_dim %399, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %401 = stablehlo.add %395, %400 : tensor<16x32x32xf32>
    %402 = stablehlo.dot_general %401, %284, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<16x32x32xf32>) -> tensor<32x32xf32>
    %403 = stablehlo.transpose %402, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %404 = stablehlo.dot_general %401, %arg13, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x32xf32>) -> tensor<16x32x32xf32>
    %405 = stablehlo.reshape %404 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %406 = stablehlo.transpose %405, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %407 = stablehlo.dot_general %406, %278, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x16xf32>, tensor<16x2x32x32xf32>) -> tensor<16x2x16x32xf32>
    %408 = stablehlo.transpose %407, dims = [0, 1, 3, 2] : (tensor<16x2x16x32xf32>) -> tensor<16x2x32x16xf32>
    %409 = stablehlo.dot_general %406, %260, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x16xf32>, tensor<16x2x32x16xf32>) -> tensor<16x2x32x32xf32>
    %410 = stablehlo.broadcast_in_dim %281, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %411 = stablehlo.multiply %409, %410 : tensor<16x2x32x32xf32>
    %412 = stablehlo.multiply %411, %274 : tensor<16x2x32x32xf32>
    %cst_95 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %413 = stablehlo.reduce(%412 init: %cst_95) applies stablehlo.add across dimensions = [3] : (tensor<16x2x32x32xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %414 = stablehlo.reshape %413 : (tensor<16x2x32xf32>) -> tensor<16x2x32x1xf32>
    %415 = stablehlo.negate %414 : tensor<16x2x32x1xf32>
    %416 = stablehlo.broadcast_in_dim %276, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %417 = stablehlo.divide %409, %416 : tensor<16x2x32x32xf32>
    %cst_96 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %418 = stablehlo.reduce(%415 init: %cst_96) applies stablehlo.add across dimensions = [3] : (tensor<16x2x32x1xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %419 = stablehlo.broadcast_in_dim %418, dims = [0, 1, 2] : (tensor<16x2x32xf32>) -> tensor<16x2x32x32xf32>
    %420 = stablehlo.add %417, %419 : tensor<16x2x32x32xf32>
    %421 = stablehlo.multiply %420, %274 : tensor<16x2x32x32xf32>
    %422 = call @_where_1(%267#1, %421) : (tensor<16x2x32x32xi1>, tensor<16x2x32x32xf32>) -> tensor<16x2x32x32xf32>
    %cst_97 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %423 = stablehlo.broadcast_in_dim %cst_97, dims = [] : (tensor<f32>) -> tensor<16x2x32x32xf32>
    %424 = stablehlo.divide %422, %423 : tensor<16x2x32x32xf32>
    %425 = stablehlo.dot_general %424, %256, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x32xf32>, tensor<16x2x32x16xf32>) -> tensor<16x2x32x16xf32>
    %426 = stablehlo.transpose %425, dims = [0, 1, 3, 2] : (tensor<16x2x32x16xf32>) -> tensor<16x2x16x32xf32>
    %427 = stablehlo.dot_general %424, %263, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x32xf32>, tensor<16x2x16x32xf32>) -> tensor<16x2x32x16xf32>
    %428 = stablehlo.transpose %426, dims = [0, 1, 3, 2] : (tensor<16x2x16x32xf32>) -> tensor<16x2x32x16xf32>
    %429 = stablehlo.transpose %408, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %430 = stablehlo.reshape %429 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %431 = stablehlo.transpose %428, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %432 = stablehlo.reshape %431 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %433 = stablehlo.transpose %427, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %434 = stablehlo.reshape %433 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %435 = stablehlo.concatenate %434, %432, %430, dim = 2 : (tensor<16x32x32xf32>, tensor<16x32x32xf32>, tensor<16x32x32xf32>) -> tensor<16x32x96xf32>
    %436 = stablehlo.dot_general %435, %250, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x96xf32>, tensor<16x32x32xf32>) -> tensor<96x32xf32>
    %437 = stablehlo.transpose %436, dims = [1, 0] : (tensor<96x32xf32>) -> tensor<32x96xf32>
    %438 = stablehlo.dot_general %435, %arg14, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x96xf32>, tensor<32x96xf32>) -> tensor<16x32x32xf32>
    %439 = stablehlo.multiply %247, %438 : tensor<16x32x32xf32>
    %cst_98 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %440 = stablehlo.reduce(%439 init: %cst_98) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %441 = stablehlo.reshape %440 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %442 = stablehlo.broadcast_in_dim %248, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %443 = stablehlo.multiply %438, %442 : tensor<16x32x32xf32>
    %cst_99 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %444 = stablehlo.reduce(%441 init: %cst_99) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %445 = stablehlo.multiply %239, %443 : tensor<16x32x32xf32>
    %cst_100 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %446 = stablehlo.reduce(%445 init: %cst_100) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %447 = stablehlo.reshape %446 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %448 = stablehlo.broadcast_in_dim %242, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %449 = stablehlo.multiply %443, %448 : tensor<16x32x32xf32>
    %450 = stablehlo.multiply %447, %245 : tensor<16x32x1xf32>
    %451 = stablehlo.negate %449 : tensor<16x32x32xf32>
    %cst_101 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %452 = stablehlo.reduce(%451 init: %cst_101) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %453 = stablehlo.reshape %452 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %454 = stablehlo.add %401, %449 : tensor<16x32x32xf32>
    %cst_102 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %455 = stablehlo.broadcast_in_dim %cst_102, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %456 = stablehlo.divide %450, %455 : tensor<16x32x1xf32>
    %cst_103 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %457 = stablehlo.reduce(%456 init: %cst_103) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %458 = stablehlo.broadcast_in_dim %457, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %459 = stablehlo.multiply %458, %233 : tensor<16x32x32xf32>
    %460 = stablehlo.negate %459 : tensor<16x32x32xf32>
    %cst_104 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %461 = stablehlo.reduce(%460 init: %cst_104) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %462 = stablehlo.reshape %461 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %463 = stablehlo.add %454, %459 : tensor<16x32x32xf32>
    %464 = stablehlo.add %453, %462 : tensor<16x32x1xf32>
    %cst_105 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %465 = stablehlo.broadcast_in_dim %cst_105, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %466 = stablehlo.divide %464, %465 : tensor<16x32x1xf32>
    %cst_106 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %467 = stablehlo.reduce(%466 init: %cst_106) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %468 = stablehlo.broadcast_in_dim %467, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %469 = stablehlo.add %463, %468 : tensor<16x32x32xf32>
    %470 = stablehlo.dot_general %469, %222, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<16x32x128xf32>) -> tensor<32x128xf32>
    %471 = stablehlo.transpose %470, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %472 = stablehlo.dot_general %469, %arg6, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<128x32xf32>) -> tensor<16x32x128xf32>
    %473 = stablehlo.multiply %204, %472 : tensor<16x32x128xf32>
    %474 = stablehlo.multiply %472, %221 : tensor<16x32x128xf32>
    %cst_107 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %475 = stablehlo.broadcast_in_dim %cst_107, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %476 = stablehlo.multiply %475, %473 : tensor<16x32x128xf32>
    %477 = stablehlo.multiply %476, %217 : tensor<16x32x128xf32>
    %478 = stablehlo.multiply %477, %215 : tensor<16x32x128xf32>
    %479 = stablehlo.add %477, %478 : tensor<16x32x128xf32>
    %cst_108 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %480 = stablehlo.broadcast_in_dim %cst_108, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %481 = stablehlo.multiply %480, %479 : tensor<16x32x128xf32>
    %482 = stablehlo.add %474, %481 : tensor<16x32x128xf32>
    %cst_109 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %483 = stablehlo.broadcast_in_dim %cst_109, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %484 = stablehlo.multiply %483, %481 : tensor<16x32x128xf32>
    %485 = stablehlo.multiply %484, %209 : tensor<16x32x128xf32>
    %486 = stablehlo.add %482, %485 : tensor<16x32x128xf32>
    %487 = stablehlo.dot_general %486, %203, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<16x32x32xf32>) -> tensor<128x32xf32>
    %488 = stablehlo.transpose %487, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %489 = stablehlo.dot_general %486, %arg11, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<32x128xf32>) -> tensor<16x32x32xf32>
    %490 = stablehlo.multiply %200, %489 : tensor<16x32x32xf32>
    %cst_110 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %491 = stablehlo.reduce(%490 init: %cst_110) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %492 = stablehlo.reshape %491 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %493 = stablehlo.broadcast_in_dim %201, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %494 = stablehlo.multiply %489, %493 : tensor<16x32x32xf32>
    %cst_111 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %495 = stablehlo.reduce(%492 init: %cst_111) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %496 = stablehlo.multiply %192, %494 : tensor<16x32x32xf32>
    %cst_112 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %497 = stablehlo.reduce(%496 init: %cst_112) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %498 = stablehlo.reshape %497 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %499 = stablehlo.broadcast_in_dim %195, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %500 = stablehlo.multiply %494, %499 : tensor<16x32x32xf32>
    %501 = stablehlo.multiply %498, %198 : tensor<16x32x1xf32>
    %502 = stablehlo.negate %500 : tensor<16x32x32xf32>
    %cst_113 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %503 = stablehlo.reduce(%502 init: %cst_113) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %504 = stablehlo.reshape %503 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %505 = stablehlo.add %469, %500 : tensor<16x32x32xf32>
    %cst_114 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %506 = stablehlo.broadcast_in_dim %cst_114, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %507 = stablehlo.divide %501, %506 : tensor<16x32x1xf32>
    %cst_115 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %508 = stablehlo.reduce(%507 init: %cst_115) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %509 = stablehlo.broadcast_in_dim %508, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %510 = stablehlo.multiply %509, %186 : tensor<16x32x32xf32>
    %511 = stablehlo.negate %510 : tensor<16x32x32xf32>
    %cst_116 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %512 = stablehlo.reduce(%511 init: %cst_116) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %513 = stablehlo.reshape %512 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %514 = stablehlo.add %505, %510 : tensor<16x32x32xf32>
    %515 = stablehlo.add %504, %513 : tensor<16x32x1xf32>
    %cst_117 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %516 = stablehlo.broadcast_in_dim %cst_117, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %517 = stablehlo.divide %515, %516 : tensor<16x32x1xf32>
    %cst_118 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %518 = stablehlo.reduce(%517 init: %cst_118) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %519 = stablehlo.broadcast_in_dim %518, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %520 = stablehlo.add %514, %519 : tensor<16x32x32xf32>
    %521 = stablehlo.dot_general %520, %175, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<16x32x32xf32>) -> tensor<32x32xf32>
    %522 = stablehlo.transpose %521, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %523 = stablehlo.dot_general %520, %arg7, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x32xf32>) -> tensor<16x32x32xf32>
    %524 = stablehlo.reshape %523 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %525 = stablehlo.transpose %524, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %526 = stablehlo.dot_general %525, %169, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x16xf32>, tensor<16x2x32x32xf32>) -> tensor<16x2x16x32xf32>
    %527 = stablehlo.transpose %526, dims = [0, 1, 3, 2] : (tensor<16x2x16x32xf32>) -> tensor<16x2x32x16xf32>
    %528 = stablehlo.dot_general %525, %151, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x16xf32>, tensor<16x2x32x16xf32>) -> tensor<16x2x32x32xf32>
    %529 = stablehlo.broadcast_in_dim %172, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %530 = stablehlo.multiply %528, %529 : tensor<16x2x32x32xf32>
    %531 = stablehlo.multiply %530, %165 : tensor<16x2x32x32xf32>
    %cst_119 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %532 = stablehlo.reduce(%531 init: %cst_119) applies stablehlo.add across dimensions = [3] : (tensor<16x2x32x32xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %533 = stablehlo.reshape %532 : (tensor<16x2x32xf32>) -> tensor<16x2x32x1xf32>
    %534 = stablehlo.negate %533 : tensor<16x2x32x1xf32>
    %535 = stablehlo.broadcast_in_dim %167, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %536 = stablehlo.divide %528, %535 : tensor<16x2x32x32xf32>
    %cst_120 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %537 = stablehlo.reduce(%534 init: %cst_120) applies stablehlo.add across dimensions = [3] : (tensor<16x2x32x1xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %538 = stablehlo.broadcast_in_dim %537, dims = [0, 1, 2] : (tensor<16x2x32xf32>) -> tensor<16x2x32x32xf32>
    %539 = stablehlo.add %536, %538 : tensor<16x2x32x32xf32>
    %540 = stablehlo.multiply %539, %165 : tensor<16x2x32x32xf32>
    %541 = call @_where_1(%158#1, %540) : (tensor<16x2x32x32xi1>, tensor<16x2x32x32xf32>) -> tensor<16x2x32x32xf32>
    %cst_121 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %542 = stablehlo.broadcast_in_dim %cst_121, dims = [] : (tensor<f32>) -> tensor<16x2x32x32xf32>
    %543 = stablehlo.divide %541, %542 : tensor<16x2x32x32xf32>
    %544 = stablehlo.dot_general %543, %147, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x32xf32>, tensor<16x2x32x16xf32>) -> tensor<16x2x32x16xf32>
    %545 = stablehlo.transpose %544, dims = [0, 1, 3, 2] : (tensor<16x2x32x16xf32>) -> tensor<16x2x16x32xf32>
    %546 = stablehlo.dot_general %543, %154, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x32xf32>, tensor<16x2x16x32xf32>) -> tensor<16x2x32x16xf32>
    %547 = stablehlo.transpose %545, dims = [0, 1, 3, 2] : (tensor<16x2x16x32xf32>) -> tensor<16x2x32x16xf32>
    %548 = stablehlo.transpose %527, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %549 = stablehlo.reshape %548 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %550 = stablehlo.transpose %547, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %551 = stablehlo.reshape %550 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %552 = stablehlo.transpose %546, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %553 = stablehlo.reshape %552 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %554 = stablehlo.concatenate %553, %551, %549, dim = 2 : (tensor<16x32x32xf32>, tensor<16x32x32xf32>, tensor<16x32x32xf32>) -> tensor<16x32x96xf32>
    %555 = stablehlo.dot_general %554, %141, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x96xf32>, tensor<16x32x32xf32>) -> tensor<96x32xf32>
    %556 = stablehlo.transpose %555, dims = [1, 0] : (tensor<96x32xf32>) -> tensor<32x96xf32>
    %557 = stablehlo.dot_general %554, %arg8, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x96xf32>, tensor<32x96xf32>) -> tensor<16x32x32xf32>
    %558 = stablehlo.multiply %138, %557 : tensor<16x32x32xf32>
    %cst_122 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %559 = stablehlo.reduce(%558 init: %cst_122) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %560 = stablehlo.reshape %559 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %561 = stablehlo.broadcast_in_dim %139, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %562 = stablehlo.multiply %557, %561 : tensor<16x32x32xf32>
    %cst_123 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %563 = stablehlo.reduce(%560 init: %cst_123) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %564 = stablehlo.multiply %130, %562 : tensor<16x32x32xf32>
    %cst_124 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %565 = stablehlo.reduce(%564 init: %cst_124) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %566 = stablehlo.reshape %565 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %567 = stablehlo.broadcast_in_dim %133, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %568 = stablehlo.multiply %562, %567 : tensor<16x32x32xf32>
    %569 = stablehlo.multiply %566, %136 : tensor<16x32x1xf32>
    %570 = stablehlo.negate %568 : tensor<16x32x32xf32>
    %cst_125 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %571 = stablehlo.reduce(%570 init: %cst_125) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %572 = stablehlo.reshape %571 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %573 = stablehlo.add %520, %568 : tensor<16x32x32xf32>
    %cst_126 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %574 = stablehlo.broadcast_in_dim %cst_126, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %575 = stablehlo.divide %569, %574 : tensor<16x32x1xf32>
    %cst_127 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %576 = stablehlo.reduce(%575 init: %cst_127) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %577 = stablehlo.broadcast_in_dim %576, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %578 = stablehlo.multiply %577, %124 : tensor<16x32x32xf32>
    %579 = stablehlo.negate %578 : tensor<16x32x32xf32>
    %cst_128 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %580 = stablehlo.reduce(%579 init: %cst_128) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %581 = stablehlo.reshape %580 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %582 = stablehlo.add %573, %578 : tensor<16x32x32xf32>
    %583 = stablehlo.add %572, %581 : tensor<16x32x1xf32>
    %cst_129 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %584 = stablehlo.broadcast_in_dim %cst_129, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %585 = stablehlo.divide %583, %584 : tensor<16x32x1xf32>
    %cst_130 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %586 = stablehlo.reduce(%585 init: %cst_130) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %587 = stablehlo.broadcast_in_dim %586, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %588 = stablehlo.add %582, %587 : tensor<16x32x32xf32>
    %589 = stablehlo.dot_general %588, %113, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<16x32x128xf32>) -> tensor<32x128xf32>
    %590 = stablehlo.transpose %589, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %591 = stablehlo.dot_general %588, %arg0, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<128x32xf32>) -> tensor<16x32x128xf32>
    %592 = stablehlo.multiply %95, %591 : tensor<16x32x128xf32>
    %593 = stablehlo.multiply %591, %112 : tensor<16x32x128xf32>
    %cst_131 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %594 = stablehlo.broadcast_in_dim %cst_131, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %595 = stablehlo.multiply %594, %592 : tensor<16x32x128xf32>
    %596 = stablehlo.multiply %595, %108 : tensor<16x32x128xf32>
    %597 = stablehlo.multiply %596, %106 : tensor<16x32x128xf32>
    %598 = stablehlo.add %596, %597 : tensor<16x32x128xf32>
    %cst_132 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %599 = stablehlo.broadcast_in_dim %cst_132, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %600 = stablehlo.multiply %599, %598 : tensor<16x32x128xf32>
    %601 = stablehlo.add %593, %600 : tensor<16x32x128xf32>
    %cst_133 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %602 = stablehlo.broadcast_in_dim %cst_133, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %603 = stablehlo.multiply %602, %600 : tensor<16x32x128xf32>
    %604 = stablehlo.multiply %603, %100 : tensor<16x32x128xf32>
    %605 = stablehlo.add %601, %604 : tensor<16x32x128xf32>
    %606 = stablehlo.dot_general %605, %94, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<16x32x32xf32>) -> tensor<128x32xf32>
    %607 = stablehlo.transpose %606, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %608 = stablehlo.dot_general %605, %arg5, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<32x128xf32>) -> tensor<16x32x32xf32>
    %609 = stablehlo.multiply %91, %608 : tensor<16x32x32xf32>
    %cst_134 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %610 = stablehlo.reduce(%609 init: %cst_134) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %611 = stablehlo.reshape %610 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %612 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %613 = stablehlo.multiply %608, %612 : tensor<16x32x32xf32>
    %cst_135 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %614 = stablehlo.reduce(%611 init: %cst_135) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %615 = stablehlo.multiply %83, %613 : tensor<16x32x32xf32>
    %cst_136 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %616 = stablehlo.reduce(%615 init: %cst_136) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %617 = stablehlo.reshape %616 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %618 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %619 = stablehlo.multiply %613, %618 : tensor<16x32x32xf32>
    %620 = stablehlo.multiply %617, %89 : tensor<16x32x1xf32>
    %621 = stablehlo.negate %619 : tensor<16x32x32xf32>
    %cst_137 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %622 = stablehlo.reduce(%621 init: %cst_137) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %623 = stablehlo.reshape %622 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %624 = stablehlo.add %588, %619 : tensor<16x32x32xf32>
    %cst_138 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %625 = stablehlo.broadcast_in_dim %cst_138, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %626 = stablehlo.divide %620, %625 : tensor<16x32x1xf32>
    %cst_139 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %627 = stablehlo.reduce(%626 init: %cst_139) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %628 = stablehlo.broadcast_in_dim %627, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %629 = stablehlo.multiply %628, %77 : tensor<16x32x32xf32>
    %630 = stablehlo.negate %629 : tensor<16x32x32xf32>
    %cst_140 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %631 = stablehlo.reduce(%630 init: %cst_140) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %632 = stablehlo.reshape %631 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %633 = stablehlo.add %624, %629 : tensor<16x32x32xf32>
    %634 = stablehlo.add %623, %632 : tensor<16x32x1xf32>
    %cst_141 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %635 = stablehlo.broadcast_in_dim %cst_141, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %636 = stablehlo.divide %634, %635 : tensor<16x32x1xf32>
    %cst_142 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %637 = stablehlo.reduce(%636 init: %cst_142) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %638 = stablehlo.broadcast_in_dim %637, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %639 = stablehlo.add %633, %638 : tensor<16x32x32xf32>
    %640 = stablehlo.dot_general %639, %66, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<16x32x32xf32>) -> tensor<32x32xf32>
    %641 = stablehlo.transpose %640, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %642 = stablehlo.dot_general %639, %arg1, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<32x32xf32>) -> tensor<16x32x32xf32>
    %643 = stablehlo.reshape %642 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %644 = stablehlo.transpose %643, dims = [0, 2, 1, 3] : (tensor<16x32x2x16xf32>) -> tensor<16x2x32x16xf32>
    %645 = stablehlo.dot_general %644, %60, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x16xf32>, tensor<16x2x32x32xf32>) -> tensor<16x2x16x32xf32>
    %646 = stablehlo.transpose %645, dims = [0, 1, 3, 2] : (tensor<16x2x16x32xf32>) -> tensor<16x2x32x16xf32>
    %647 = stablehlo.dot_general %644, %42, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x16xf32>, tensor<16x2x32x16xf32>) -> tensor<16x2x32x32xf32>
    %648 = stablehlo.broadcast_in_dim %63, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %649 = stablehlo.multiply %647, %648 : tensor<16x2x32x32xf32>
    %650 = stablehlo.multiply %649, %56 : tensor<16x2x32x32xf32>
    %cst_143 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %651 = stablehlo.reduce(%650 init: %cst_143) applies stablehlo.add across dimensions = [3] : (tensor<16x2x32x32xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %652 = stablehlo.reshape %651 : (tensor<16x2x32xf32>) -> tensor<16x2x32x1xf32>
    %653 = stablehlo.negate %652 : tensor<16x2x32x1xf32>
    %654 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3] : (tensor<16x2x32x1xf32>) -> tensor<16x2x32x32xf32>
    %655 = stablehlo.divide %647, %654 : tensor<16x2x32x32xf32>
    %cst_144 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %656 = stablehlo.reduce(%653 init: %cst_144) applies stablehlo.add across dimensions = [3] : (tensor<16x2x32x1xf32>, tensor<f32>) -> tensor<16x2x32xf32>
    %657 = stablehlo.broadcast_in_dim %656, dims = [0, 1, 2] : (tensor<16x2x32xf32>) -> tensor<16x2x32x32xf32>
    %658 = stablehlo.add %655, %657 : tensor<16x2x32x32xf32>
    %659 = stablehlo.multiply %658, %56 : tensor<16x2x32x32xf32>
    %660 = call @_where_1(%49#1, %659) : (tensor<16x2x32x32xi1>, tensor<16x2x32x32xf32>) -> tensor<16x2x32x32xf32>
    %cst_145 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %661 = stablehlo.broadcast_in_dim %cst_145, dims = [] : (tensor<f32>) -> tensor<16x2x32x32xf32>
    %662 = stablehlo.divide %660, %661 : tensor<16x2x32x32xf32>
    %663 = stablehlo.dot_general %662, %38, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x32xf32>, tensor<16x2x32x16xf32>) -> tensor<16x2x32x16xf32>
    %664 = stablehlo.transpose %663, dims = [0, 1, 3, 2] : (tensor<16x2x32x16xf32>) -> tensor<16x2x16x32xf32>
    %665 = stablehlo.dot_general %662, %45, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x32xf32>, tensor<16x2x16x32xf32>) -> tensor<16x2x32x16xf32>
    %666 = stablehlo.transpose %664, dims = [0, 1, 3, 2] : (tensor<16x2x16x32xf32>) -> tensor<16x2x32x16xf32>
    %667 = stablehlo.transpose %646, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %668 = stablehlo.reshape %667 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %669 = stablehlo.transpose %666, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %670 = stablehlo.reshape %669 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %671 = stablehlo.transpose %665, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %672 = stablehlo.reshape %671 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %673 = stablehlo.concatenate %672, %670, %668, dim = 2 : (tensor<16x32x32xf32>, tensor<16x32x32xf32>, tensor<16x32x32xf32>) -> tensor<16x32x96xf32>
    %674 = stablehlo.dot_general %673, %32, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x96xf32>, tensor<16x32x32xf32>) -> tensor<96x32xf32>
    %675 = stablehlo.transpose %674, dims = [1, 0] : (tensor<96x32xf32>) -> tensor<32x96xf32>
    %676 = stablehlo.dot_general %673, %arg2, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x96xf32>, tensor<32x96xf32>) -> tensor<16x32x32xf32>
    %677 = stablehlo.multiply %29, %676 : tensor<16x32x32xf32>
    %cst_146 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %678 = stablehlo.reduce(%677 init: %cst_146) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %679 = stablehlo.reshape %678 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %680 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x32x32xf32>
    %681 = stablehlo.multiply %676, %680 : tensor<16x32x32xf32>
    %cst_147 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %682 = stablehlo.reduce(%679 init: %cst_147) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %683 = stablehlo.multiply %21, %681 : tensor<16x32x32xf32>
    %cst_148 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %684 = stablehlo.reduce(%683 init: %cst_148) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %685 = stablehlo.reshape %684 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %686 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x32xf32>
    %687 = stablehlo.multiply %681, %686 : tensor<16x32x32xf32>
    %688 = stablehlo.multiply %685, %27 : tensor<16x32x1xf32>
    %689 = stablehlo.negate %687 : tensor<16x32x32xf32>
    %cst_149 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %690 = stablehlo.reduce(%689 init: %cst_149) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %691 = stablehlo.reshape %690 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %692 = stablehlo.add %639, %687 : tensor<16x32x32xf32>
    %cst_150 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %693 = stablehlo.broadcast_in_dim %cst_150, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %694 = stablehlo.divide %688, %693 : tensor<16x32x1xf32>
    %cst_151 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %695 = stablehlo.reduce(%694 init: %cst_151) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %696 = stablehlo.broadcast_in_dim %695, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %697 = stablehlo.multiply %696, %15 : tensor<16x32x32xf32>
    %698 = stablehlo.negate %697 : tensor<16x32x32xf32>
    %cst_152 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %699 = stablehlo.reduce(%698 init: %cst_152) applies stablehlo.add across dimensions = [2] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %700 = stablehlo.reshape %699 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %701 = stablehlo.add %692, %697 : tensor<16x32x32xf32>
    %702 = stablehlo.add %691, %700 : tensor<16x32x1xf32>
    %cst_153 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %703 = stablehlo.broadcast_in_dim %cst_153, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %704 = stablehlo.divide %702, %703 : tensor<16x32x1xf32>
    %cst_154 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %705 = stablehlo.reduce(%704 init: %cst_154) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %706 = stablehlo.broadcast_in_dim %705, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x32xf32>
    %707 = stablehlo.add %701, %706 : tensor<16x32x32xf32>
    %cst_155 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %708 = stablehlo.reduce(%707 init: %cst_155) applies stablehlo.add across dimensions = [0] : (tensor<16x32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
    %709 = stablehlo.reshape %708 : (tensor<32x32xf32>) -> tensor<1x32x32xf32>
    %cst_156 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %710 = stablehlo.reduce(%709 init: %cst_156) applies stablehlo.add across dimensions = [0] : (tensor<1x32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
    %711 = stablehlo.dot_general %707, %2, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<16x32x64xf32>) -> tensor<32x64xf32>
    %712 = stablehlo.transpose %711, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %713 = stablehlo.add %350, %712 : tensor<64x32xf32>
    %cst_157 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %714 = stablehlo.broadcast_in_dim %cst_157, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %715 = stablehlo.multiply %714, %arg20 : tensor<128x32xf32>
    %cst_158 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %716 = stablehlo.broadcast_in_dim %cst_158, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %717 = stablehlo.multiply %716, %590 : tensor<128x32xf32>
    %718 = stablehlo.add %715, %717 : tensor<128x32xf32>
    %cst_159 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %719 = stablehlo.broadcast_in_dim %cst_159, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %720 = stablehlo.multiply %719, %arg21 : tensor<32x32xf32>
    %cst_160 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %721 = stablehlo.broadcast_in_dim %cst_160, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %722 = stablehlo.multiply %721, %641 : tensor<32x32xf32>
    %723 = stablehlo.add %720, %722 : tensor<32x32xf32>
    %cst_161 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %724 = stablehlo.broadcast_in_dim %cst_161, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %725 = stablehlo.multiply %724, %arg22 : tensor<32x96xf32>
    %cst_162 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %726 = stablehlo.broadcast_in_dim %cst_162, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %727 = stablehlo.multiply %726, %675 : tensor<32x96xf32>
    %728 = stablehlo.add %725, %727 : tensor<32x96xf32>
    %cst_163 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %729 = stablehlo.broadcast_in_dim %cst_163, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %730 = stablehlo.multiply %729, %arg23 : tensor<32xf32>
    %cst_164 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %731 = stablehlo.broadcast_in_dim %cst_164, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %732 = stablehlo.multiply %731, %682 : tensor<32xf32>
    %733 = stablehlo.add %730, %732 : tensor<32xf32>
    %cst_165 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %734 = stablehlo.broadcast_in_dim %cst_165, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %735 = stablehlo.multiply %734, %arg24 : tensor<32xf32>
    %cst_166 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %736 = stablehlo.broadcast_in_dim %cst_166, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %737 = stablehlo.multiply %736, %614 : tensor<32xf32>
    %738 = stablehlo.add %735, %737 : tensor<32xf32>
    %cst_167 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %739 = stablehlo.broadcast_in_dim %cst_167, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %740 = stablehlo.multiply %739, %arg25 : tensor<32x128xf32>
    %cst_168 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %741 = stablehlo.broadcast_in_dim %cst_168, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %742 = stablehlo.multiply %741, %607 : tensor<32x128xf32>
    %743 = stablehlo.add %740, %742 : tensor<32x128xf32>
    %cst_169 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %744 = stablehlo.broadcast_in_dim %cst_169, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %745 = stablehlo.multiply %744, %arg26 : tensor<128x32xf32>
    %cst_170 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %746 = stablehlo.broadcast_in_dim %cst_170, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %747 = stablehlo.multiply %746, %471 : tensor<128x32xf32>
    %748 = stablehlo.add %745, %747 : tensor<128x32xf32>
    %cst_171 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %749 = stablehlo.broadcast_in_dim %cst_171, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %750 = stablehlo.multiply %749, %arg27 : tensor<32x32xf32>
    %cst_172 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %751 = stablehlo.broadcast_in_dim %cst_172, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %752 = stablehlo.multiply %751, %522 : tensor<32x32xf32>
    %753 = stablehlo.add %750, %752 : tensor<32x32xf32>
    %cst_173 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %754 = stablehlo.broadcast_in_dim %cst_173, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %755 = stablehlo.multiply %754, %arg28 : tensor<32x96xf32>
    %cst_174 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %756 = stablehlo.broadcast_in_dim %cst_174, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %757 = stablehlo.multiply %756, %556 : tensor<32x96xf32>
    %758 = stablehlo.add %755, %757 : tensor<32x96xf32>
    %cst_175 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %759 = stablehlo.broadcast_in_dim %cst_175, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %760 = stablehlo.multiply %759, %arg29 : tensor<32xf32>
    %cst_176 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %761 = stablehlo.broadcast_in_dim %cst_176, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %762 = stablehlo.multiply %761, %563 : tensor<32xf32>
    %763 = stablehlo.add %760, %762 : tensor<32xf32>
    %cst_177 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %764 = stablehlo.broadcast_in_dim %cst_177, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %765 = stablehlo.multiply %764, %arg30 : tensor<32xf32>
    %cst_178 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %766 = stablehlo.broadcast_in_dim %cst_178, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %767 = stablehlo.multiply %766, %495 : tensor<32xf32>
    %768 = stablehlo.add %765, %767 : tensor<32xf32>
    %cst_179 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %769 = stablehlo.broadcast_in_dim %cst_179, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %770 = stablehlo.multiply %769, %arg31 : tensor<32x128xf32>
    %cst_180 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %771 = stablehlo.broadcast_in_dim %cst_180, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %772 = stablehlo.multiply %771, %488 : tensor<32x128xf32>
    %773 = stablehlo.add %770, %772 : tensor<32x128xf32>
    %cst_181 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %774 = stablehlo.broadcast_in_dim %cst_181, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %775 = stablehlo.multiply %774, %arg32 : tensor<128x32xf32>
    %cst_182 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %776 = stablehlo.broadcast_in_dim %cst_182, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %777 = stablehlo.multiply %776, %352 : tensor<128x32xf32>
    %778 = stablehlo.add %775, %777 : tensor<128x32xf32>
    %cst_183 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %779 = stablehlo.broadcast_in_dim %cst_183, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %780 = stablehlo.multiply %779, %arg33 : tensor<32x32xf32>
    %cst_184 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %781 = stablehlo.broadcast_in_dim %cst_184, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %782 = stablehlo.multiply %781, %403 : tensor<32x32xf32>
    %783 = stablehlo.add %780, %782 : tensor<32x32xf32>
    %cst_185 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %784 = stablehlo.broadcast_in_dim %cst_185, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %785 = stablehlo.multiply %784, %arg34 : tensor<32x96xf32>
    %cst_186 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %786 = stablehlo.broadcast_in_dim %cst_186, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %787 = stablehlo.multiply %786, %437 : tensor<32x96xf32>
    %788 = stablehlo.add %785, %787 : tensor<32x96xf32>
    %cst_187 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %789 = stablehlo.broadcast_in_dim %cst_187, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %790 = stablehlo.multiply %789, %arg35 : tensor<32xf32>
    %cst_188 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %791 = stablehlo.broadcast_in_dim %cst_188, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %792 = stablehlo.multiply %791, %444 : tensor<32xf32>
    %793 = stablehlo.add %790, %792 : tensor<32xf32>
    %cst_189 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %794 = stablehlo.broadcast_in_dim %cst_189, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %795 = stablehlo.multiply %794, %arg36 : tensor<32xf32>
    %cst_190 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %796 = stablehlo.broadcast_in_dim %cst_190, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %797 = stablehlo.multiply %796, %376 : tensor<32xf32>
    %798 = stablehlo.add %795, %797 : tensor<32xf32>
    %cst_191 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %799 = stablehlo.broadcast_in_dim %cst_191, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %800 = stablehlo.multiply %799, %arg37 : tensor<32x128xf32>
    %cst_192 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %801 = stablehlo.broadcast_in_dim %cst_192, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %802 = stablehlo.multiply %801, %369 : tensor<32x128xf32>
    %803 = stablehlo.add %800, %802 : tensor<32x128xf32>
    %cst_193 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %804 = stablehlo.broadcast_in_dim %cst_193, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %805 = stablehlo.multiply %804, %arg38 : tensor<64x32xf32>
    %cst_194 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %806 = stablehlo.broadcast_in_dim %cst_194, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %807 = stablehlo.multiply %806, %713 : tensor<64x32xf32>
    %808 = stablehlo.add %805, %807 : tensor<64x32xf32>
    %cst_195 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %809 = stablehlo.broadcast_in_dim %cst_195, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %810 = stablehlo.multiply %809, %arg39 : tensor<32x32xf32>
    %cst_196 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %811 = stablehlo.broadcast_in_dim %cst_196, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %812 = stablehlo.multiply %811, %710 : tensor<32x32xf32>
    %813 = stablehlo.add %810, %812 : tensor<32x32xf32>
    %cst_197 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %814 = stablehlo.broadcast_in_dim %cst_197, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %815 = stablehlo.multiply %814, %arg40 : tensor<128x32xf32>
    %cst_198 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %816 = stablehlo.broadcast_in_dim %cst_198, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %817 = stablehlo.multiply %816, %590 : tensor<128x32xf32>
    %818 = stablehlo.multiply %817, %590 : tensor<128x32xf32>
    %819 = stablehlo.add %815, %818 : tensor<128x32xf32>
    %cst_199 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %820 = stablehlo.broadcast_in_dim %cst_199, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %821 = stablehlo.multiply %820, %arg41 : tensor<32x32xf32>
    %cst_200 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %822 = stablehlo.broadcast_in_dim %cst_200, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %823 = stablehlo.multiply %822, %641 : tensor<32x32xf32>
    %824 = stablehlo.multiply %823, %641 : tensor<32x32xf32>
    %825 = stablehlo.add %821, %824 : tensor<32x32xf32>
    %cst_201 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %826 = stablehlo.broadcast_in_dim %cst_201, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %827 = stablehlo.multiply %826, %arg42 : tensor<32x96xf32>
    %cst_202 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %828 = stablehlo.broadcast_in_dim %cst_202, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %829 = stablehlo.multiply %828, %675 : tensor<32x96xf32>
    %830 = stablehlo.multiply %829, %675 : tensor<32x96xf32>
    %831 = stablehlo.add %827, %830 : tensor<32x96xf32>
    %cst_203 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %832 = stablehlo.broadcast_in_dim %cst_203, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %833 = stablehlo.multiply %832, %arg43 : tensor<32xf32>
    %cst_204 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %834 = stablehlo.broadcast_in_dim %cst_204, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %835 = stablehlo.multiply %834, %682 : tensor<32xf32>
    %836 = stablehlo.multiply %835, %682 : tensor<32xf32>
    %837 = stablehlo.add %833, %836 : tensor<32xf32>
    %cst_205 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %838 = stablehlo.broadcast_in_dim %cst_205, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %839 = stablehlo.multiply %838, %arg44 : tensor<32xf32>
    %cst_206 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %840 = stablehlo.broadcast_in_dim %cst_206, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %841 = stablehlo.multiply %840, %614 : tensor<32xf32>
    %842 = stablehlo.multiply %841, %614 : tensor<32xf32>
    %843 = stablehlo.add %839, %842 : tensor<32xf32>
    %cst_207 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %844 = stablehlo.broadcast_in_dim %cst_207, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %845 = stablehlo.multiply %844, %arg45 : tensor<32x128xf32>
    %cst_208 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %846 = stablehlo.broadcast_in_dim %cst_208, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %847 = stablehlo.multiply %846, %607 : tensor<32x128xf32>
    %848 = stablehlo.multiply %847, %607 : tensor<32x128xf32>
    %849 = stablehlo.add %845, %848 : tensor<32x128xf32>
    %cst_209 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %850 = stablehlo.broadcast_in_dim %cst_209, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %851 = stablehlo.multiply %850, %arg46 : tensor<128x32xf32>
    %cst_210 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %852 = stablehlo.broadcast_in_dim %cst_210, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %853 = stablehlo.multiply %852, %471 : tensor<128x32xf32>
    %854 = stablehlo.multiply %853, %471 : tensor<128x32xf32>
    %855 = stablehlo.add %851, %854 : tensor<128x32xf32>
    %cst_211 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %856 = stablehlo.broadcast_in_dim %cst_211, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %857 = stablehlo.multiply %856, %arg47 : tensor<32x32xf32>
    %cst_212 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %858 = stablehlo.broadcast_in_dim %cst_212, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %859 = stablehlo.multiply %858, %522 : tensor<32x32xf32>
    %860 = stablehlo.multiply %859, %522 : tensor<32x32xf32>
    %861 = stablehlo.add %857, %860 : tensor<32x32xf32>
    %cst_213 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %862 = stablehlo.broadcast_in_dim %cst_213, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %863 = stablehlo.multiply %862, %arg48 : tensor<32x96xf32>
    %cst_214 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %864 = stablehlo.broadcast_in_dim %cst_214, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %865 = stablehlo.multiply %864, %556 : tensor<32x96xf32>
    %866 = stablehlo.multiply %865, %556 : tensor<32x96xf32>
    %867 = stablehlo.add %863, %866 : tensor<32x96xf32>
    %cst_215 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %868 = stablehlo.broadcast_in_dim %cst_215, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %869 = stablehlo.multiply %868, %arg49 : tensor<32xf32>
    %cst_216 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %870 = stablehlo.broadcast_in_dim %cst_216, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %871 = stablehlo.multiply %870, %563 : tensor<32xf32>
    %872 = stablehlo.multiply %871, %563 : tensor<32xf32>
    %873 = stablehlo.add %869, %872 : tensor<32xf32>
    %cst_217 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %874 = stablehlo.broadcast_in_dim %cst_217, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %875 = stablehlo.multiply %874, %arg50 : tensor<32xf32>
    %cst_218 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %876 = stablehlo.broadcast_in_dim %cst_218, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %877 = stablehlo.multiply %876, %495 : tensor<32xf32>
    %878 = stablehlo.multiply %877, %495 : tensor<32xf32>
    %879 = stablehlo.add %875, %878 : tensor<32xf32>
    %cst_219 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %880 = stablehlo.broadcast_in_dim %cst_219, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %881 = stablehlo.multiply %880, %arg51 : tensor<32x128xf32>
    %cst_220 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %882 = stablehlo.broadcast_in_dim %cst_220, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %883 = stablehlo.multiply %882, %488 : tensor<32x128xf32>
    %884 = stablehlo.multiply %883, %488 : tensor<32x128xf32>
    %885 = stablehlo.add %881, %884 : tensor<32x128xf32>
    %cst_221 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %886 = stablehlo.broadcast_in_dim %cst_221, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %887 = stablehlo.multiply %886, %arg52 : tensor<128x32xf32>
    %cst_222 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %888 = stablehlo.broadcast_in_dim %cst_222, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %889 = stablehlo.multiply %888, %352 : tensor<128x32xf32>
    %890 = stablehlo.multiply %889, %352 : tensor<128x32xf32>
    %891 = stablehlo.add %887, %890 : tensor<128x32xf32>
    %cst_223 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %892 = stablehlo.broadcast_in_dim %cst_223, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %893 = stablehlo.multiply %892, %arg53 : tensor<32x32xf32>
    %cst_224 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %894 = stablehlo.broadcast_in_dim %cst_224, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %895 = stablehlo.multiply %894, %403 : tensor<32x32xf32>
    %896 = stablehlo.multiply %895, %403 : tensor<32x32xf32>
    %897 = stablehlo.add %893, %896 : tensor<32x32xf32>
    %cst_225 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %898 = stablehlo.broadcast_in_dim %cst_225, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %899 = stablehlo.multiply %898, %arg54 : tensor<32x96xf32>
    %cst_226 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %900 = stablehlo.broadcast_in_dim %cst_226, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %901 = stablehlo.multiply %900, %437 : tensor<32x96xf32>
    %902 = stablehlo.multiply %901, %437 : tensor<32x96xf32>
    %903 = stablehlo.add %899, %902 : tensor<32x96xf32>
    %cst_227 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %904 = stablehlo.broadcast_in_dim %cst_227, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %905 = stablehlo.multiply %904, %arg55 : tensor<32xf32>
    %cst_228 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %906 = stablehlo.broadcast_in_dim %cst_228, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %907 = stablehlo.multiply %906, %444 : tensor<32xf32>
    %908 = stablehlo.multiply %907, %444 : tensor<32xf32>
    %909 = stablehlo.add %905, %908 : tensor<32xf32>
    %cst_229 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %910 = stablehlo.broadcast_in_dim %cst_229, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %911 = stablehlo.multiply %910, %arg56 : tensor<32xf32>
    %cst_230 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %912 = stablehlo.broadcast_in_dim %cst_230, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %913 = stablehlo.multiply %912, %376 : tensor<32xf32>
    %914 = stablehlo.multiply %913, %376 : tensor<32xf32>
    %915 = stablehlo.add %911, %914 : tensor<32xf32>
    %cst_231 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %916 = stablehlo.broadcast_in_dim %cst_231, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %917 = stablehlo.multiply %916, %arg57 : tensor<32x128xf32>
    %cst_232 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %918 = stablehlo.broadcast_in_dim %cst_232, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %919 = stablehlo.multiply %918, %369 : tensor<32x128xf32>
    %920 = stablehlo.multiply %919, %369 : tensor<32x128xf32>
    %921 = stablehlo.add %917, %920 : tensor<32x128xf32>
    %cst_233 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %922 = stablehlo.broadcast_in_dim %cst_233, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %923 = stablehlo.multiply %922, %arg58 : tensor<64x32xf32>
    %cst_234 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %924 = stablehlo.broadcast_in_dim %cst_234, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %925 = stablehlo.multiply %924, %713 : tensor<64x32xf32>
    %926 = stablehlo.multiply %925, %713 : tensor<64x32xf32>
    %927 = stablehlo.add %923, %926 : tensor<64x32xf32>
    %cst_235 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %928 = stablehlo.broadcast_in_dim %cst_235, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %929 = stablehlo.multiply %928, %arg59 : tensor<32x32xf32>
    %cst_236 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %930 = stablehlo.broadcast_in_dim %cst_236, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %931 = stablehlo.multiply %930, %710 : tensor<32x32xf32>
    %932 = stablehlo.multiply %931, %710 : tensor<32x32xf32>
    %933 = stablehlo.add %929, %932 : tensor<32x32xf32>
    %cst_237 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %934 = stablehlo.broadcast_in_dim %cst_237, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %935 = stablehlo.multiply %934, %718 : tensor<128x32xf32>
    %936 = stablehlo.sqrt %819 : tensor<128x32xf32>
    %cst_238 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %937 = stablehlo.broadcast_in_dim %cst_238, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %938 = stablehlo.add %936, %937 : tensor<128x32xf32>
    %939 = stablehlo.divide %935, %938 : tensor<128x32xf32>
    %940 = stablehlo.subtract %arg0, %939 : tensor<128x32xf32>
    %cst_239 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %941 = stablehlo.broadcast_in_dim %cst_239, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %942 = stablehlo.multiply %941, %723 : tensor<32x32xf32>
    %943 = stablehlo.sqrt %825 : tensor<32x32xf32>
    %cst_240 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %944 = stablehlo.broadcast_in_dim %cst_240, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %945 = stablehlo.add %943, %944 : tensor<32x32xf32>
    %946 = stablehlo.divide %942, %945 : tensor<32x32xf32>
    %947 = stablehlo.subtract %arg1, %946 : tensor<32x32xf32>
    %cst_241 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %948 = stablehlo.broadcast_in_dim %cst_241, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %949 = stablehlo.multiply %948, %728 : tensor<32x96xf32>
    %950 = stablehlo.sqrt %831 : tensor<32x96xf32>
    %cst_242 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %951 = stablehlo.broadcast_in_dim %cst_242, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %952 = stablehlo.add %950, %951 : tensor<32x96xf32>
    %953 = stablehlo.divide %949, %952 : tensor<32x96xf32>
    %954 = stablehlo.subtract %arg2, %953 : tensor<32x96xf32>
    %cst_243 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %955 = stablehlo.broadcast_in_dim %cst_243, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %956 = stablehlo.multiply %955, %733 : tensor<32xf32>
    %957 = stablehlo.sqrt %837 : tensor<32xf32>
    %cst_244 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %958 = stablehlo.broadcast_in_dim %cst_244, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %959 = stablehlo.add %957, %958 : tensor<32xf32>
    %960 = stablehlo.divide %956, %959 : tensor<32xf32>
    %961 = stablehlo.subtract %arg3, %960 : tensor<32xf32>
    %cst_245 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %962 = stablehlo.broadcast_in_dim %cst_245, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %963 = stablehlo.multiply %962, %738 : tensor<32xf32>
    %964 = stablehlo.sqrt %843 : tensor<32xf32>
    %cst_246 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %965 = stablehlo.broadcast_in_dim %cst_246, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %966 = stablehlo.add %964, %965 : tensor<32xf32>
    %967 = stablehlo.divide %963, %966 : tensor<32xf32>
    %968 = stablehlo.subtract %arg4, %967 : tensor<32xf32>
    %cst_247 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %969 = stablehlo.broadcast_in_dim %cst_247, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %970 = stablehlo.multiply %969, %743 : tensor<32x128xf32>
    %971 = stablehlo.sqrt %849 : tensor<32x128xf32>
    %cst_248 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %972 = stablehlo.broadcast_in_dim %cst_248, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %973 = stablehlo.add %971, %972 : tensor<32x128xf32>
    %974 = stablehlo.divide %970, %973 : tensor<32x128xf32>
    %975 = stablehlo.subtract %arg5, %974 : tensor<32x128xf32>
    %cst_249 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %976 = stablehlo.broadcast_in_dim %cst_249, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %977 = stablehlo.multiply %976, %748 : tensor<128x32xf32>
    %978 = stablehlo.sqrt %855 : tensor<128x32xf32>
    %cst_250 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %979 = stablehlo.broadcast_in_dim %cst_250, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %980 = stablehlo.add %978, %979 : tensor<128x32xf32>
    %981 = stablehlo.divide %977, %980 : tensor<128x32xf32>
    %982 = stablehlo.subtract %arg6, %981 : tensor<128x32xf32>
    %cst_251 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %983 = stablehlo.broadcast_in_dim %cst_251, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %984 = stablehlo.multiply %983, %753 : tensor<32x32xf32>
    %985 = stablehlo.sqrt %861 : tensor<32x32xf32>
    %cst_252 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %986 = stablehlo.broadcast_in_dim %cst_252, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %987 = stablehlo.add %985, %986 : tensor<32x32xf32>
    %988 = stablehlo.divide %984, %987 : tensor<32x32xf32>
    %989 = stablehlo.subtract %arg7, %988 : tensor<32x32xf32>
    %cst_253 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %990 = stablehlo.broadcast_in_dim %cst_253, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %991 = stablehlo.multiply %990, %758 : tensor<32x96xf32>
    %992 = stablehlo.sqrt %867 : tensor<32x96xf32>
    %cst_254 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %993 = stablehlo.broadcast_in_dim %cst_254, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %994 = stablehlo.add %992, %993 : tensor<32x96xf32>
    %995 = stablehlo.divide %991, %994 : tensor<32x96xf32>
    %996 = stablehlo.subtract %arg8, %995 : tensor<32x96xf32>
    %cst_255 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %997 = stablehlo.broadcast_in_dim %cst_255, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %998 = stablehlo.multiply %997, %763 : tensor<32xf32>
    %999 = stablehlo.sqrt %873 : tensor<32xf32>
    %cst_256 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1000 = stablehlo.broadcast_in_dim %cst_256, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %1001 = stablehlo.add %999, %1000 : tensor<32xf32>
    %1002 = stablehlo.divide %998, %1001 : tensor<32xf32>
    %1003 = stablehlo.subtract %arg9, %1002 : tensor<32xf32>
    %cst_257 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1004 = stablehlo.broadcast_in_dim %cst_257, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %1005 = stablehlo.multiply %1004, %768 : tensor<32xf32>
    %1006 = stablehlo.sqrt %879 : tensor<32xf32>
    %cst_258 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1007 = stablehlo.broadcast_in_dim %cst_258, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %1008 = stablehlo.add %1006, %1007 : tensor<32xf32>
    %1009 = stablehlo.divide %1005, %1008 : tensor<32xf32>
    %1010 = stablehlo.subtract %arg10, %1009 : tensor<32xf32>
    %cst_259 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1011 = stablehlo.broadcast_in_dim %cst_259, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %1012 = stablehlo.multiply %1011, %773 : tensor<32x128xf32>
    %1013 = stablehlo.sqrt %885 : tensor<32x128xf32>
    %cst_260 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1014 = stablehlo.broadcast_in_dim %cst_260, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %1015 = stablehlo.add %1013, %1014 : tensor<32x128xf32>
    %1016 = stablehlo.divide %1012, %1015 : tensor<32x128xf32>
    %1017 = stablehlo.subtract %arg11, %1016 : tensor<32x128xf32>
    %cst_261 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1018 = stablehlo.broadcast_in_dim %cst_261, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %1019 = stablehlo.multiply %1018, %778 : tensor<128x32xf32>
    %1020 = stablehlo.sqrt %891 : tensor<128x32xf32>
    %cst_262 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1021 = stablehlo.broadcast_in_dim %cst_262, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %1022 = stablehlo.add %1020, %1021 : tensor<128x32xf32>
    %1023 = stablehlo.divide %1019, %1022 : tensor<128x32xf32>
    %1024 = stablehlo.subtract %arg12, %1023 : tensor<128x32xf32>
    %cst_263 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1025 = stablehlo.broadcast_in_dim %cst_263, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %1026 = stablehlo.multiply %1025, %783 : tensor<32x32xf32>
    %1027 = stablehlo.sqrt %897 : tensor<32x32xf32>
    %cst_264 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1028 = stablehlo.broadcast_in_dim %cst_264, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %1029 = stablehlo.add %1027, %1028 : tensor<32x32xf32>
    %1030 = stablehlo.divide %1026, %1029 : tensor<32x32xf32>
    %1031 = stablehlo.subtract %arg13, %1030 : tensor<32x32xf32>
    %cst_265 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1032 = stablehlo.broadcast_in_dim %cst_265, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %1033 = stablehlo.multiply %1032, %788 : tensor<32x96xf32>
    %1034 = stablehlo.sqrt %903 : tensor<32x96xf32>
    %cst_266 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1035 = stablehlo.broadcast_in_dim %cst_266, dims = [] : (tensor<f32>) -> tensor<32x96xf32>
    %1036 = stablehlo.add %1034, %1035 : tensor<32x96xf32>
    %1037 = stablehlo.divide %1033, %1036 : tensor<32x96xf32>
    %1038 = stablehlo.subtract %arg14, %1037 : tensor<32x96xf32>
    %cst_267 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1039 = stablehlo.broadcast_in_dim %cst_267, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %1040 = stablehlo.multiply %1039, %793 : tensor<32xf32>
    %1041 = stablehlo.sqrt %909 : tensor<32xf32>
    %cst_268 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1042 = stablehlo.broadcast_in_dim %cst_268, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %1043 = stablehlo.add %1041, %1042 : tensor<32xf32>
    %1044 = stablehlo.divide %1040, %1043 : tensor<32xf32>
    %1045 = stablehlo.subtract %arg15, %1044 : tensor<32xf32>
    %cst_269 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1046 = stablehlo.broadcast_in_dim %cst_269, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %1047 = stablehlo.multiply %1046, %798 : tensor<32xf32>
    %1048 = stablehlo.sqrt %915 : tensor<32xf32>
    %cst_270 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1049 = stablehlo.broadcast_in_dim %cst_270, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %1050 = stablehlo.add %1048, %1049 : tensor<32xf32>
    %1051 = stablehlo.divide %1047, %1050 : tensor<32xf32>
    %1052 = stablehlo.subtract %arg16, %1051 : tensor<32xf32>
    %cst_271 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1053 = stablehlo.broadcast_in_dim %cst_271, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %1054 = stablehlo.multiply %1053, %803 : tensor<32x128xf32>
    %1055 = stablehlo.sqrt %921 : tensor<32x128xf32>
    %cst_272 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1056 = stablehlo.broadcast_in_dim %cst_272, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %1057 = stablehlo.add %1055, %1056 : tensor<32x128xf32>
    %1058 = stablehlo.divide %1054, %1057 : tensor<32x128xf32>
    %1059 = stablehlo.subtract %arg17, %1058 : tensor<32x128xf32>
    %cst_273 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1060 = stablehlo.broadcast_in_dim %cst_273, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %1061 = stablehlo.multiply %1060, %808 : tensor<64x32xf32>
    %1062 = stablehlo.sqrt %927 : tensor<64x32xf32>
    %cst_274 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1063 = stablehlo.broadcast_in_dim %cst_274, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %1064 = stablehlo.add %1062, %1063 : tensor<64x32xf32>
    %1065 = stablehlo.divide %1061, %1064 : tensor<64x32xf32>
    %1066 = stablehlo.subtract %arg18, %1065 : tensor<64x32xf32>
    %cst_275 = stablehlo.constant dense<3.000000e-03> : tensor<f32>
    %1067 = stablehlo.broadcast_in_dim %cst_275, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %1068 = stablehlo.multiply %1067, %813 : tensor<32x32xf32>
    %1069 = stablehlo.sqrt %933 : tensor<32x32xf32>
    %cst_276 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1070 = stablehlo.broadcast_in_dim %cst_276, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %1071 = stablehlo.add %1069, %1070 : tensor<32x32xf32>
    %1072 = stablehlo.divide %1068, %1071 : tensor<32x32xf32>
    %1073 = stablehlo.subtract %arg19, %1072 : tensor<32x32xf32>
    return %341, %940, %947, %954, %961, %968, %975, %982, %989, %996, %1003, %1010, %1017, %1024, %1031, %1038, %1045, %1052, %1059, %1066, %1073, %718, %723, %728, %733, %738, %743, %748, %753, %758, %763, %768, %773, %778, %783, %788, %793, %798, %803, %808, %813, %819, %825, %831, %837, %843, %849, %855, %861, %867, %873, %879, %885, %891, %897, %903, %909, %915, %921, %927, %933 : tensor<f32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<64x32xf32>, tensor<32x32xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<64x32xf32>, tensor<32x32xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<64x32xf32>, tensor<32x32xf32>
  }
  func.func private @_one_hot(%arg0: tensor<16x33xi32>) -> tensor<16x33x64xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<16x33xi32>) -> tensor<16x33x1xi32>
    %1 = stablehlo.iota dim = 2 : tensor<1x1x64xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<16x33x1xi32>) -> tensor<16x33x64xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1x64xi32>) -> tensor<16x33x64xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<16x33x64xi32>, tensor<16x33x64xi32>) -> tensor<16x33x64xi1>
    %5 = stablehlo.convert %4 : (tensor<16x33x64xi1>) -> tensor<16x33x64xf32>
    return %5 : tensor<16x33x64xf32>
  }
  func.func private @tril(%arg0: tensor<32x32xi1>) -> tensor<32x32xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<32x32xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %2 = stablehlo.add %0, %1 : tensor<32x32xi32>
    %3 = stablehlo.iota dim = 1 : tensor<32x32xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<32x32xi1>, tensor<32x32xi1>
    return %6 : tensor<32x32xi1>
  }
  func.func private @_where(%arg0: tensor<32x32xi1>, %arg1: tensor<16x2x32x32xf32>, %arg2: tensor<f32>) -> (tensor<16x2x32x32xf32>, tensor<16x2x32x32xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<32x32xi1>) -> tensor<16x2x32x32xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<16x2x32x32xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<16x2x32x32xi1>, tensor<16x2x32x32xf32>
    return %3, %1 : tensor<16x2x32x32xf32>, tensor<16x2x32x32xi1>
  }
  func.func private @log_softmax(%arg0: tensor<16x32x64xf32>) -> (tensor<16x32x64xf32>, tensor<16x32x64xf32>, tensor<16x32x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<16x32x64xf32>, tensor<f32>) -> tensor<16x32xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<16x32xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x64xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<16x32x64xf32>
    %6 = stablehlo.exponential %5 : tensor<16x32x64xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<16x32x64xf32>, tensor<f32>) -> tensor<16x32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %9 = stablehlo.log %8 : tensor<16x32x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x64xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<16x32x64xf32>
    return %11, %6, %8 : tensor<16x32x64xf32>, tensor<16x32x64xf32>, tensor<16x32x1xf32>
  }
  func.func private @log_softmax_0(%arg0: tensor<16x32x64xf32>, %arg1: tensor<16x32x1xf32>, %arg2: tensor<16x32x64xf32>) -> tensor<16x32x64xf32> {
    %0 = stablehlo.negate %arg2 : tensor<16x32x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<16x32x64xf32>, tensor<f32>) -> tensor<16x32xf32>
    %2 = stablehlo.reshape %1 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<16x32x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x64xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<16x32x64xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<16x32x64xf32>
    return %7 : tensor<16x32x64xf32>
  }
  func.func private @_where_1(%arg0: tensor<16x2x32x32xi1>, %arg1: tensor<16x2x32x32xf32>) -> tensor<16x2x32x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x2x32x32xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<16x2x32x32xi1>, tensor<16x2x32x32xf32>
    return %1 : tensor<16x2x32x32xf32>
  }
}
