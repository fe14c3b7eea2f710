// EXPECT: 3:8 (transpose C2)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.transpose"(%a0) <{permutation = array<i64: 0, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}
