// EXPECT: 3:8 (clamp C1)
func.func @main(%a0: tensor<3xf32>, %a1: tensor<2xf32>, %a2: tensor<f32>) {
  %r = "stablehlo.clamp"(%a0, %a1, %a2) : (tensor<3xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
