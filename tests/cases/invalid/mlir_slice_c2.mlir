// EXPECT: 3:8 (slice C2)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.slice"(%a0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}
