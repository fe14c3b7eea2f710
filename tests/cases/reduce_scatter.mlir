module @reduce_scatter {
  func.func @sum(%x: tensor<2xi64>) -> tensor<1xi64> {
    %y = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %sum = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %sum : tensor<i64>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi64>) -> tensor<1xi64>
    return %y : tensor<1xi64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %b = stablehlo.constant dense<[30, 40]> : tensor<2xi64>
    %y:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@sum], [@sum]]} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<1xi64>, tensor<1xi64>)
    check.expect_eq_const %y#0, dense<[31]> : tensor<1xi64>
    check.expect_eq_const %y#1, dense<[42]> : tensor<1xi64>
    return
  }
}
