// EXPECT: 3:8 (if C3)
func.func @main(%p: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<i1>) -> tensor<3xf32>
  return
}
