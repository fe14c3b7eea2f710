// EXPECT: 3:8 add C1
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>, %a1: tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 1.0:17>> {
  %r = "stablehlo.add"(%a0, %a1) : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>, tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<2x!quant.uniform<i8:f32, 1.0:17>>
}
