// EXPECT: 3:8 (sign I1)
func.func @main(%a0: tensor<4xui8>) {
  %r = stablehlo.sign %a0 : tensor<4xui8>
  return
}
