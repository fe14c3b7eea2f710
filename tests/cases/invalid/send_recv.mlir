// ----- recv_c2
// EXPECT: 3:3 (recv C2)
func.func @main(%a: !stablehlo.token) {
  "stablehlo.recv"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!stablehlo.token) -> ()
  return
}
// ----- recv_c4
// EXPECT: 3:10 (recv C4)
func.func @main(%a: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!stablehlo.token) -> (tensor<2xf32>, tensor<f32>)
  return
}
// ----- recv_i1
// EXPECT: 3:10 (recv I1)
func.func @main(%a: tensor<2xf32>) {
  %r:2 = "stablehlo.recv"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// ----- send_i2
// EXPECT: 3:8 (send I2)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.send"(%a, %a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>, tensor<2xf32>) -> !stablehlo.token
  return
}
// ----- send_to_host_between_devices
// EXPECT: 3:8 (send C1)
func.func @main(%x: tensor<2x2xi64>, %t: !stablehlo.token) -> !stablehlo.token {
  %r = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = true} : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token
  return %r : !stablehlo.token
}
// ----- recv_of_token
// EXPECT: 3:10 (recv C3)
func.func @main(%t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>}> : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}
