// EXPECT: 3:8 (reshape C2)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.reshape"(%a0) : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}
