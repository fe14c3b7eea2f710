// EXPECT: 3:8 (collective_permute C5)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<3xf32>
  return
}
