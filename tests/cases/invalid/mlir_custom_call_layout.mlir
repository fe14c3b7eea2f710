// EXPECT: 3:8 layout 0 is no permutation
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a0) {call_target_name = "f", operand_layouts = [dense<[0, 2]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
