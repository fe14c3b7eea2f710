// EXPECT: 3:8 (if I1)
func.func @main(%p: tensor<1xi1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<1xi1>) -> tensor<2xf32>
  return
}
