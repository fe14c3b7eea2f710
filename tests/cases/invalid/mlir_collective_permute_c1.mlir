// EXPECT: 3:8 (collective_permute C1)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
