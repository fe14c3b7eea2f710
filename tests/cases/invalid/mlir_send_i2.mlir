// EXPECT: 3:8 (send I2)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.send"(%a, %a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>, tensor<2xf32>) -> !stablehlo.token
  return
}
