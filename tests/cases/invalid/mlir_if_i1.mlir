// EXPECT: 3:8 (if I1)
func.func @main(%p: tensor<f32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<f32>) -> tensor<2xf32>
  return
}
