// EXPECT: 3:8 (pad C2)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  %r = "stablehlo.pad"(%a0, %a1) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}
