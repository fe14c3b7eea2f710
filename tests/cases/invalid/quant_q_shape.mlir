// EXPECT: 3:8 uniform_quantize C1
func.func @main(%a0: tensor<3xf32>) -> tensor<2x!quant.uniform<i8:f32, 1.0:17>> {
  %r = stablehlo.uniform_quantize %a0 : (tensor<3xf32>) -> tensor<2x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<2x!quant.uniform<i8:f32, 1.0:17>>
}
