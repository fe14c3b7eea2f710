// EXPECT: 3:8 quantized type C5-C6
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, -1.0>>) -> tensor<2x!quant.uniform<i8:f32, -1.0>> {
  %r = "stablehlo.abs"(%a0) : (tensor<2x!quant.uniform<i8:f32, -1.0>>) -> tensor<2x!quant.uniform<i8:f32, -1.0>>
  return %r : tensor<2x!quant.uniform<i8:f32, -1.0>>
}
