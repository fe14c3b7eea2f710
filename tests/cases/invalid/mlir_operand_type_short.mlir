// EXPECT: 3:8 operand 0 is tensor<2xf32>, and is written as tensor<3xf32>
func.func @main(%a0: tensor<2xf32>) {
  %r = stablehlo.negate %a0 : tensor<3xf32>
  return
}
