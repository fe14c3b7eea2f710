// EXPECT: 3:8 the result has rank 2, want 3
func.func @main(%a0: tensor<3xi32>) {
  %r = "stablehlo.broadcast"(%a0) {broadcast_sizes = array<i64: 1, 2>} : (tensor<3xi32>) -> tensor<2x3xi32>
  return
}
