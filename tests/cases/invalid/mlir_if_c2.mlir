// EXPECT: 3:8 (if C2)
func.func @main(%p: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %c : tensor<3xf32> }) : (tensor<i1>) -> tensor<2xf32>
  return
}
