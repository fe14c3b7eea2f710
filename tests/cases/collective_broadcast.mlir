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

// -----

// Each operand has a root of its own.
module @roots {
  func.func @from_roots(%x: tensor<2xi64>, %y: tensor<i64>, %roots: tensor<2xi32>) -> (tensor<2xi64>, tensor<i64>) {
    %r:2 = "stablehlo.collective_broadcast"(%x, %y, %roots) {
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root
    } : (tensor<2xi64>, tensor<i64>, tensor<2xi32>) -> (tensor<2xi64>, tensor<i64>)
    return %r#0, %r#1 : tensor<2xi64>, tensor<i64>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %x1 = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
    %y0 = stablehlo.constant dense<5> : tensor<i64>
    %y1 = stablehlo.constant dense<6> : tensor<i64>
    %roots = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%x0, %y0, %roots, %x1, %y1, %roots) {
      programs = [[@from_roots], [@from_roots]]
    } : (tensor<2xi64>, tensor<i64>, tensor<2xi32>, tensor<2xi64>, tensor<i64>, tensor<2xi32>)
      -> (tensor<2xi64>, tensor<i64>, tensor<2xi64>, tensor<i64>)
    check.expect_eq %r#0, %x1 : tensor<2xi64>
    check.expect_eq %r#1, %y0 : tensor<i64>
    check.expect_eq %r#2, %x1 : tensor<2xi64>
    check.expect_eq %r#3, %y0 : tensor<i64>
    return
  }
}
