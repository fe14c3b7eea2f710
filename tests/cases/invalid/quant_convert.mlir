// EXPECT: 3:8 takes no quantised values
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2xf32> {
  %r = stablehlo.convert %a0 : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
