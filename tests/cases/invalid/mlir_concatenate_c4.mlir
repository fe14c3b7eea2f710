// EXPECT: 3:8 (concatenate C4)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>) {
  %r = "stablehlo.concatenate"(%a0, %a1) <{dimension = 2 : i64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}
