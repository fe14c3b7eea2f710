// EXPECT: 3:8 (add C1)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<3x2xf32>) {
  %r = "stablehlo.add"(%a0, %a1) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}
