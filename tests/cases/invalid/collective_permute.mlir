// ----- collective_permute_c1
// EXPECT: 3:8 (collective_permute C1)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// ----- collective_permute_c2
// EXPECT: 3:8 (collective_permute C2)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// ----- collective_permute_c3
// EXPECT: 3:8 (collective_permute C3)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// ----- collective_permute_c4
// EXPECT: 3:8 (collective_permute C4)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[-5, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// ----- collective_permute_c5
// EXPECT: 3:8 (collective_permute C5)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<3xf32>
  return
}
