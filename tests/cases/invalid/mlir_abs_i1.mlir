// EXPECT: 3:8 (abs I1)
func.func @main(%a0: tensor<4xui8>) {
  %r = stablehlo.abs %a0 : tensor<4xui8>
  return
}
