// EXPECT: 3:8 (all_gather C6)
func.func @main(%a: tensor<2x2xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x2xf32>) -> tensor<5x2xf32>
  return
}
