// ----- convert_c1
// EXPECT: 3:8 (convert C1)
func.func @main(%a0: tensor<2xf32>) {
  %r = "stablehlo.convert"(%a0) : (tensor<2xf32>) -> tensor<3xi32>
  return
}
