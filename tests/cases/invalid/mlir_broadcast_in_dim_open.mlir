// EXPECT: 3:8 no size, want a static shape
func.func @main(%a0: tensor<3xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a0) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<?x3xf32>
  return
}
