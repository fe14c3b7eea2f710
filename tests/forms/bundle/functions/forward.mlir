module @IrToHlo.10 attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.multiply %arg2, %arg1 : tensor<2xf32>
    %1 = stablehlo.add %0, %arg0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
