// EXPECT: 3:10 (recv C4)
func.func @main(%a: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!stablehlo.token) -> (tensor<2xf32>, tensor<f32>)
  return
}
