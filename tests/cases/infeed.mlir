module @two_processes_share_one_queue {
  func.func @first() -> tensor<i64> {
    %x = stablehlo.constant dense<1> : tensor<i64>
    return %x : tensor<i64>
  }
  func.func @second() -> tensor<i64> {
    %x = stablehlo.constant dense<2> : tensor<i64>
    return %x : tensor<i64>
  }
  func.func @take_and_give(%t: !stablehlo.token) -> tensor<i64> {
    %x:2 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<i64>, !stablehlo.token)
    %out = "stablehlo.outfeed"(%x#0, %x#1) {outfeed_config = ""} : (tensor<i64>, !stablehlo.token) -> !stablehlo.token
    return %x#0 : tensor<i64>
  }
  func.func @main() {
    %t = stablehlo.create_token : !stablehlo.token
    %y:2 = "interpreter.run_parallel"(%t, %t) {infeed = [@first, @second], programs = [[@take_and_give, @take_and_give]]} : (!stablehlo.token, !stablehlo.token) -> (tensor<i64>, tensor<i64>)
    %sum = stablehlo.add %y#0, %y#1 : tensor<i64>
    check.expect_eq_const %sum, dense<3> : tensor<i64>
    return
  }
}
