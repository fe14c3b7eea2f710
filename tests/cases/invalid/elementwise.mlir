// ----- abs_i1
// EXPECT: 3:8 (abs I1)
func.func @main(%a0: tensor<4xui8>) {
  %r = stablehlo.abs %a0 : tensor<4xui8>
  return
}
// ----- add_c1
// EXPECT: 3:8 (add C1)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<3x2xf32>) {
  %r = "stablehlo.add"(%a0, %a1) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}
// ----- sign_i1
// EXPECT: 3:8 (sign I1)
func.func @main(%a0: tensor<4xui8>) {
  %r = stablehlo.sign %a0 : tensor<4xui8>
  return
}
