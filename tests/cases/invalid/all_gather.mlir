// ----- all_gather_c1
// EXPECT: 3:8 (all_gather C1)
func.func @main(%a: tensor<2x2xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x2xf32>) -> tensor<4x2xf32>
  return
}
// ----- all_gather_c2
// EXPECT: 3:8 (all_gather C2)
func.func @main(%a: tensor<2x2xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x2xf32>) -> tensor<4x2xf32>
  return
}
// ----- all_gather_c6
// EXPECT: 3:8 (all_gather C6)
func.func @main(%a: tensor<2x2xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x2xf32>) -> tensor<5x2xf32>
  return
}
