// EXPECT: 3:3 value 0 is f32[2], and the function's type says f32[?]
func.func @main(%x: tensor<2xf32>) -> tensor<?xf32> {
  return %x : tensor<2xf32>
}
