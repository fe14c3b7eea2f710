module @all_to_all {
  func.func @exchange(%x: tensor<2xi64>) -> tensor<2xi64> {
    %y = "stablehlo.all_to_all"(%x) {
      split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    } : (tensor<2xi64>) -> tensor<2xi64>
    return %y : tensor<2xi64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %b = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
    %y:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@exchange], [@exchange]]} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %y#0, dense<[1, 3]> : tensor<2xi64>
    check.expect_eq_const %y#1, dense<[2, 4]> : tensor<2xi64>
    return
  }
}
