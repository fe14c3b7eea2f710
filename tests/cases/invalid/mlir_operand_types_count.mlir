// EXPECT: 3:10 operand 1 is tensor<3xf32>, and is written as tensor<2xf32>
func.func @main(%a0: tensor<2xf32>, %a1: tensor<3xf32>) {
  %r:2 = stablehlo.optimization_barrier %a0, %a1 : tensor<2xf32>, tensor<2xf32>
  return
}
