// EXPECT: 3:10 (infeed I1)
func.func @main(%a: tensor<f32>) {
  %r:2 = "stablehlo.infeed"(%a) : (tensor<f32>) -> (tensor<2xf32>, !stablehlo.token)
  return
}
