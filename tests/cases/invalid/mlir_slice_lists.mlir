// EXPECT: 3:8 start_indices is of rank 2, want a list
func.func @main(%a0: tensor<3x4xi32>) {
  %r = "stablehlo.slice"(%a0) {start_indices = dense<[[1, 0]]> : tensor<1x2xi64>, limit_indices = dense<[[2, 4]]> : tensor<1x2xi64>, strides = dense<1> : tensor<1x2xi64>} : (tensor<3x4xi32>) -> tensor<1x4xi32>
  return
}
