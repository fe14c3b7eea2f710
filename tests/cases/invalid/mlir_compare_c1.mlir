// EXPECT: 3:8 (compare C1)
func.func @main(%a0: tensor<2xf32>, %a1: tensor<2xi32>) {
  %r = "stablehlo.compare"(%a0, %a1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  return
}
