// EXPECT: 3:8 quantized type C7
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:300>>) -> tensor<2x!quant.uniform<i8:f32, 1.0:300>> {
  %r = "stablehlo.abs"(%a0) : (tensor<2x!quant.uniform<i8:f32, 1.0:300>>) -> tensor<2x!quant.uniform<i8:f32, 1.0:300>>
  return %r : tensor<2x!quant.uniform<i8:f32, 1.0:300>>
}
