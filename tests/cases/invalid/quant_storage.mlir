// EXPECT: 3:8 abs C1
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x!quant.uniform<i16:f32, 1.0:17>> {
  %r = "stablehlo.abs"(%a0) : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x!quant.uniform<i16:f32, 1.0:17>>
  return %r : tensor<2x!quant.uniform<i16:f32, 1.0:17>>
}
