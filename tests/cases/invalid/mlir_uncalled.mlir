// EXPECT: 8:8 of 9 elements, want the 8 of f32[2,4] (reshape C2)
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// Nothing calls it.
func.func private @other(%x: tensor<2x4xf32>) -> tensor<3x3xf32> {
  %0 = stablehlo.reshape %x : (tensor<2x4xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
