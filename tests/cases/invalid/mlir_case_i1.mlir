// EXPECT: 3:8 (case I1)
func.func @main(%p: tensor<i64>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<i64>) -> tensor<2xf32>
  return
}
