// EXPECT: 3:8 pad C1
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>, %a1: tensor<!quant.uniform<i8:f32, 1.0:3>>) -> tensor<3x!quant.uniform<i8:f32, 1.0:17>> {
  %r = stablehlo.pad %a0, %a1, low = [1], high = [0], interior = [0] : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>, tensor<!quant.uniform<i8:f32, 1.0:3>>) -> tensor<3x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<3x!quant.uniform<i8:f32, 1.0:17>>
}
