// EXPECT: 3:8 dot_general C15
func.func @main(%a0: tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x2x!quant.uniform<i8:f32, 1.0:17>> {
  %r = stablehlo.dot_general %a0, %a0, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>, tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>
}
