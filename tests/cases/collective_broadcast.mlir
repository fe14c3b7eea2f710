module @collective_broadcast {
  func.func @from_the_second(%x: tensor<i64>) -> tensor<i64> {
    %y = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<i64>) -> tensor<i64>
    return %y : tensor<i64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<7> : tensor<i64>
    %b = stablehlo.constant dense<8> : tensor<i64>
    %y:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@from_the_second], [@from_the_second]]} : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    check.expect_eq %y#0, %b : tensor<i64>
    check.expect_eq %y#1, %b : tensor<i64>
    return
  }
}
