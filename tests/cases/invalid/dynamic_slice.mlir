// ----- dynamic_slice_c2
// EXPECT: 3:8 (dynamic_slice C2)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<i32>) {
  %r = "stablehlo.dynamic_slice"(%a0, %a1) <{slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}
// ----- dynamic_slice_c4
// EXPECT: 3:8 (dynamic_slice C4)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<i32>, %a2: tensor<i32>) {
  %r = "stablehlo.dynamic_slice"(%a0, %a1, %a2) <{slice_sizes = array<i64: 1, 4>}> : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  return
}
// ----- dynamic_slice_i2
// EXPECT: 3:8 (dynamic_slice I2)
func.func @main(%a0: tensor<3x4xi32>, %a1: tensor<2xi64>) {
  %r = "stablehlo.dynamic_slice"(%a0, %a1) {slice_sizes = array<i64: 1, 4>} : (tensor<3x4xi32>, tensor<2xi64>) -> tensor<1x4xi32>
  return
}
// ----- dynamic_update_slice_i3
// EXPECT: 3:8 (dynamic_update_slice I3)
func.func @main(%a0: tensor<3x4xi32>, %a1: tensor<1x2xi32>, %a2: tensor<2xi64>) {
  %r = "stablehlo.dynamic_update_slice"(%a0, %a1, %a2) : (tensor<3x4xi32>, tensor<1x2xi32>, tensor<2xi64>) -> tensor<3x4xi32>
  return
}
