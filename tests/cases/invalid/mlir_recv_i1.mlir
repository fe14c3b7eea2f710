// EXPECT: 3:10 (recv I1)
func.func @main(%a: tensor<2xf32>) {
  %r:2 = "stablehlo.recv"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> (tensor<2xf32>, !stablehlo.token)
  return
}
