// EXPECT: 3:8 (reverse C2)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.reverse"(%a0) <{dimensions = array<i64: 0, 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
