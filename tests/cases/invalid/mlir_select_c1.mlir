// EXPECT: 3:8 (select C1)
func.func @main(%a0: tensor<3xi1>, %a1: tensor<2xf32>, %a2: tensor<2xf32>) {
  %r = "stablehlo.select"(%a0, %a1, %a2) : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
