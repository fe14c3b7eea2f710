// EXPECT: 3:8 (outfeed I2)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.outfeed"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> !stablehlo.token
  return
}
