// EXPECT: 3:8 abs I1
func.func @main(%a0: tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>) -> tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>> {
  %r = "stablehlo.abs"(%a0) : (tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>) -> tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>
  return %r : tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>
}
