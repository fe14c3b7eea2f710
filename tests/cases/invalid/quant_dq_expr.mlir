// EXPECT: 3:8 uniform_dequantize C2
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2xf64> {
  %r = stablehlo.uniform_dequantize %a0 : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2xf64>
  return %r : tensor<2xf64>
}
