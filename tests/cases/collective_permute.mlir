module @ring_with_a_gap {
  func.func @shift(%x: tensor<i64>) -> tensor<i64> {
    %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<i64>) -> tensor<i64>
    return %y : tensor<i64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<7> : tensor<i64>
    %b = stablehlo.constant dense<8> : tensor<i64>
    %c = stablehlo.constant dense<9> : tensor<i64>
    %y:3 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@shift], [@shift], [@shift]]} : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %y#0, dense<0> : tensor<i64>
    check.expect_eq_const %y#1, dense<7> : tensor<i64>
    check.expect_eq_const %y#2, dense<8> : tensor<i64>
    return
  }
}
