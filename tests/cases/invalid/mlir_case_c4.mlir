// EXPECT: 3:8 (case C4)
func.func @main(%p: tensor<i32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<i32>) -> tensor<3xf32>
  return
}
