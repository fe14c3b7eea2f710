// EXPECT: 3:8 (dynamic_slice I2)
func.func @main(%a0: tensor<3x4xi32>, %a1: tensor<2xi64>) {
  %r = "stablehlo.dynamic_slice"(%a0, %a1) {slice_sizes = array<i64: 1, 4>} : (tensor<3x4xi32>, tensor<2xi64>) -> tensor<1x4xi32>
  return
}
