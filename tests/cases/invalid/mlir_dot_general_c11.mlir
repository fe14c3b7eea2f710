// EXPECT: 3:8 (dot_general C11)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<3x2xf32>) {
  %r = stablehlo.dot %a0, %a1, precision = [DEFAULT, DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}
