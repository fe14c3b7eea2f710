// EXPECT: 3:8 (broadcast_in_dim C2)
func.func @main(%a: tensor<2x3xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
