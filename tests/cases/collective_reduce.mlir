module @to_the_first_of_each_group {
  func.func @sum(%x: tensor<2xi64>) -> tensor<2xi64> {
    %y = "stablehlo.collective_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %sum = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %sum : tensor<i64>
    }) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<2xi64>) -> tensor<2xi64>
    return %y : tensor<2xi64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %b = stablehlo.constant dense<[30, 40]> : tensor<2xi64>
    %y:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@sum], [@sum]]} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %y#0, dense<0> : tensor<2xi64>
    check.expect_eq_const %y#1, dense<[31, 42]> : tensor<2xi64>
    return
  }
}

// -----

module @to_a_root_that_is_computed {
  func.func @sum(%x: tensor<2xi64>, %root: tensor<1xi32>) -> tensor<2xi64> {
    %y = "stablehlo.collective_reduce"(%x, %root) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %sum = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %sum : tensor<i64>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<2xi64>, tensor<1xi32>) -> tensor<2xi64>
    return %y : tensor<2xi64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %b = stablehlo.constant dense<[30, 40]> : tensor<2xi64>
    %root = stablehlo.constant dense<[1]> : tensor<1xi32>
    %y:2 = "interpreter.run_parallel"(%a, %root, %b, %root) {programs = [[@sum], [@sum]]} : (tensor<2xi64>, tensor<1xi32>, tensor<2xi64>, tensor<1xi32>) -> (tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %y#0, dense<0> : tensor<2xi64>
    check.expect_eq_const %y#1, dense<[31, 42]> : tensor<2xi64>
    return
  }
}
