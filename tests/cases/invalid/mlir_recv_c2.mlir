// EXPECT: 3:3 (recv C2)
func.func @main(%a: !stablehlo.token) {
  "stablehlo.recv"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!stablehlo.token) -> ()
  return
}
