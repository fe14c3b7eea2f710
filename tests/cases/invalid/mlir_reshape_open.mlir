// EXPECT: 3:8 no size, want a static shape
func.func @main(%a0: tensor<2x4xf32>) {
  %r = stablehlo.reshape %a0 : (tensor<2x4xf32>) -> tensor<8x?xf32>
  return
}
