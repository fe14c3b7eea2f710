// EXPECT: 3:10 layout has 1 lists, want 2
func.func @main(%a0: !stablehlo.token) {
  %r:3 = "stablehlo.infeed"(%a0) {infeed_config = "", layout = [[0, 1]]} : (!stablehlo.token) -> (tensor<3x3xi32>, tensor<i1>, !stablehlo.token)
  return
}
