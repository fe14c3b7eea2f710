// EXPECT: 3:10 layout 0 is no list of integers
func.func @main(%a0: !stablehlo.token) {
  %r:2 = "stablehlo.infeed"(%a0) {infeed_config = "", layout = [[0, []]]} : (!stablehlo.token) -> (tensor<3x3xi32>, !stablehlo.token)
  return
}
