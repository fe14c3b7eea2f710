// ----- infeed_c3
// EXPECT: 3:10 (infeed C3)
func.func @main(%a: !stablehlo.token) {
  %r:2 = "stablehlo.infeed"(%a) : (!stablehlo.token) -> (tensor<2xf32>, tensor<f32>)
  return
}
// ----- infeed_i1
// EXPECT: 3:10 (infeed I1)
func.func @main(%a: tensor<f32>) {
  %r:2 = "stablehlo.infeed"(%a) : (tensor<f32>) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// ----- infeed_layout
// EXPECT: 3:10 layout 0 is no list of integers
func.func @main(%a0: !stablehlo.token) {
  %r:2 = "stablehlo.infeed"(%a0) {infeed_config = "", layout = [[0, []]]} : (!stablehlo.token) -> (tensor<3x3xi32>, !stablehlo.token)
  return
}
// ----- infeed_layout_count
// EXPECT: 3:10 layout has 1 lists, want 2
func.func @main(%a0: !stablehlo.token) {
  %r:3 = "stablehlo.infeed"(%a0) {infeed_config = "", layout = [[0, 1]]} : (!stablehlo.token) -> (tensor<3x3xi32>, tensor<i1>, !stablehlo.token)
  return
}
// ----- outfeed_i2
// EXPECT: 3:8 (outfeed I2)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.outfeed"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> !stablehlo.token
  return
}
