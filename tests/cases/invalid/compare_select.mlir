// ----- clamp_c1
// EXPECT: 3:8 (clamp C1)
func.func @main(%a0: tensor<3xf32>, %a1: tensor<2xf32>, %a2: tensor<f32>) {
  %r = "stablehlo.clamp"(%a0, %a1, %a2) : (tensor<3xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// ----- compare_c1
// EXPECT: 3:8 (compare C1)
func.func @main(%a0: tensor<2xf32>, %a1: tensor<2xi32>) {
  %r = "stablehlo.compare"(%a0, %a1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  return
}
// ----- compare_c2
// EXPECT: 3:8 (compare C2)
func.func @main(%a0: tensor<2xf32>, %a1: tensor<3xf32>) {
  %r = "stablehlo.compare"(%a0, %a1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  return
}
// ----- select_c1
// EXPECT: 3:8 (select C1)
func.func @main(%a0: tensor<3xi1>, %a1: tensor<2xf32>, %a2: tensor<2xf32>) {
  %r = "stablehlo.select"(%a0, %a1, %a2) : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
