// EXPECT: 3:8 (broadcast_in_dim C5)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}
