// EXPECT: 6:8 declared as f32[3], want f32[2]
func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @main(%a: tensor<2xf32>) {
  %r = func.call @f(%a) : (tensor<2xf32>) -> tensor<3xf32>
  return
}
