// EXPECT: 3:8 broadcast_sizes says 2
func.func @main(%a0: tensor<3xi32>) {
  %r = "stablehlo.broadcast"(%a0) {broadcast_sizes = array<i64: 2>} : (tensor<3xi32>) -> tensor<1x3xi32>
  return
}
