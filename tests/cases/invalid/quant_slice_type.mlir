// EXPECT: 3:8 slice C1
func.func @main(%a0: tensor<4x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x!quant.uniform<i8:f32, 2.0:17>> {
  %r = stablehlo.slice %a0 [0:2] : (tensor<4x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x!quant.uniform<i8:f32, 2.0:17>>
  return %r : tensor<2x!quant.uniform<i8:f32, 2.0:17>>
}
