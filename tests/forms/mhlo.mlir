module {
  func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3x4xf32>, %arg2: tensor<2xi32>, %arg3: tensor<2x3xui32>, %arg4: tensor<2x3xi32>) -> (tensor<2x4xf32>, tensor<2x3xi8>, tensor<3x2xi32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<2xf32>) {
    %0 = "mhlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#mhlo<precision DEFAULT>, #mhlo<precision HIGHEST>], ragged_dot_dimension_numbers = #mhlo.ragged_dot<dot_dimension_numbers = #mhlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
    %1 = "mhlo.stochastic_convert"(%arg0, %arg3) : (tensor<2x3xf32>, tensor<2x3xui32>) -> tensor<2x3xi8>
    %2 = mhlo.bitcast %arg0 : (tensor<2x3xf32>) -> tensor<3x2xi32>
    %3 = mhlo.create_token : !mhlo.token
    %4 = mhlo.add_dependency %arg0, %3 : (tensor<2x3xf32>, !mhlo.token) -> tensor<2x3xf32>
    %5 = "mhlo.domain"(%arg0) <{entry_metadata = "\08\01\1A\01\01\22\01\01", exit_metadata = "\08\02", kind = #mhlo<kind sharding>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %6 = mhlo.mulhi %arg4, %arg4 : tensor<2x3xi32>
    %7 = "mhlo.fusion"(%arg0) <{fusion_kind = #mhlo<fusion_kind kInput>}> ({
    ^bb0(%arg5: tensor<2x3xf32>):
      %13 = mhlo.abs %arg5 : tensor<2x3xf32>
      mhlo.return %13 : tensor<2x3xf32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %8 = mhlo.constant dense<0.000000e+00> : tensor<3xf32>
    %9:2 = mhlo.scan(%arg0) inits (%8) dimension=0  {
    ^bb0(%input: tensor<3xf32>, %carry: tensor<3xf32>):
      %13 = mhlo.add %input, %carry : tensor<3xf32>
      mhlo.return %13, %13 : tensor<3xf32>, tensor<3xf32>
    } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
    %10 = mhlo.custom_call @Sharding(%arg0) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %11 = mhlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = mhlo.reduce(%arg0 init: %11) applies mhlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    return %0, %1, %2, %4, %5, %6, %7, %9#0, %9#1, %10, %12 : tensor<2x4xf32>, tensor<2x3xi8>, tensor<3x2xi32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<2xf32>
  }
}
