module @one_to_another {
  func.func @giver(%x: tensor<2xi64>, %t: !stablehlo.token) -> !stablehlo.token {
    %done = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false} : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
    return %done : !stablehlo.token
  }
  func.func @taker(%t: !stablehlo.token) -> (tensor<2xi64>, !stablehlo.token) {
    %y:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    return %y#0, %y#1 : tensor<2xi64>, !stablehlo.token
  }
  func.func @main() {
    %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %t = stablehlo.create_token : !stablehlo.token
    %y:3 = "interpreter.run_parallel"(%x, %t, %t) {programs = [[@giver, @taker]]} : (tensor<2xi64>, !stablehlo.token, !stablehlo.token) -> (!stablehlo.token, tensor<2xi64>, !stablehlo.token)
    check.expect_eq %y#1, %x : tensor<2xi64>
    return
  }
}
