// EXPECT: 3:8 (dynamic_update_slice I3)
func.func @main(%a0: tensor<3x4xi32>, %a1: tensor<1x2xi32>, %a2: tensor<2xi64>) {
  %r = "stablehlo.dynamic_update_slice"(%a0, %a1, %a2) : (tensor<3x4xi32>, tensor<1x2xi32>, tensor<2xi64>) -> tensor<3x4xi32>
  return
}
