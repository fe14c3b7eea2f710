// EXPECT: 4:3 operand 0 is tensor<2xf32>, and is written as tensor<2xi32>
func.func @main(%a: tensor<2xf32>) -> tensor<2xi32> {
  %r = stablehlo.negate %a : tensor<2xf32>
  return %r : tensor<2xi32>
}
