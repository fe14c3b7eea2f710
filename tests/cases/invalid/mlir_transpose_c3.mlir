// EXPECT: 3:8 (transpose C3)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.transpose"(%a0) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
