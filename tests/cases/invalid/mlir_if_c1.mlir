// EXPECT: 3:8 (if C1)
func.func @main(%p: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ ^bb0(%z: tensor<2xf32>): stablehlo.return %z : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<i1>) -> tensor<2xf32>
  return
}
