// EXPECT: 3:8 a layout of 1 dimensions for rank 2
func.func @main(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[0]> : tensor<1xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
