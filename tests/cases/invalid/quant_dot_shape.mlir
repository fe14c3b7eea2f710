// EXPECT: 3:8 dot_general C12
func.func @main(%a0: tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>, %a1: tensor<2x2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0:17>> {
  %r = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>, tensor<2x2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<2x3x!quant.uniform<i8:f32, 1.0:17>>
}
