// ----- slice_c2
// EXPECT: 3:8 (slice C2)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.slice"(%a0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}
// ----- slice_c3
// EXPECT: 3:8 (slice C3)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.slice"(%a0) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 4>, strides = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<1x4xf32>
  return
}
// ----- slice_c4
// EXPECT: 3:8 (slice C4)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.slice"(%a0) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 3>, strides = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}
// ----- slice_lists
// EXPECT: 3:8 start_indices is of rank 2, want a list
func.func @main(%a0: tensor<3x4xi32>) {
  %r = "stablehlo.slice"(%a0) {start_indices = dense<[[1, 0]]> : tensor<1x2xi64>, limit_indices = dense<[[2, 4]]> : tensor<1x2xi64>, strides = dense<1> : tensor<1x2xi64>} : (tensor<3x4xi32>) -> tensor<1x4xi32>
  return
}
