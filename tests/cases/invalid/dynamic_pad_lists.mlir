// EXPECT: 3:8 dynamic_pad C2
func.func @main(%x: tensor<?xf32>, %v: tensor<f32>, %l: tensor<2xi32>) -> tensor<?xf32> {
  %r = stablehlo.dynamic_pad %x, %v, %l, %l, %l : (tensor<?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
