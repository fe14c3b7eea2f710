// EXPECT: 3:8 (dynamic_slice C4)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<i32>, %a2: tensor<i32>) {
  %r = "stablehlo.dynamic_slice"(%a0, %a1, %a2) <{slice_sizes = array<i64: 1, 4>}> : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  return
}
