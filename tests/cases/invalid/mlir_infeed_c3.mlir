// EXPECT: 3:10 (infeed C3)
func.func @main(%a: !stablehlo.token) {
  %r:2 = "stablehlo.infeed"(%a) : (!stablehlo.token) -> (tensor<2xf32>, tensor<f32>)
  return
}
