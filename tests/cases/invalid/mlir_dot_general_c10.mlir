// EXPECT: 3:8 (dot_general C10)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<4x4xf32>) {
  %r = "stablehlo.dot_general"(%a0, %a1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return
}
