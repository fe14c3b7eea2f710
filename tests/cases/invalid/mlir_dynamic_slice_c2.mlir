// EXPECT: 3:8 (dynamic_slice C2)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<i32>) {
  %r = "stablehlo.dynamic_slice"(%a0, %a1) <{slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}
