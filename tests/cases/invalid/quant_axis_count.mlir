// EXPECT: 3:8 quantized tensor C13
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<2xf32> {
  %r = stablehlo.uniform_dequantize %a0 : (tensor<2x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
