module @over_replicas {
  func.func @add(%x: tensor<2xi64>) -> tensor<2xi64> {
    %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %sum = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %sum : tensor<i64>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi64>) -> tensor<2xi64>
    return %y : tensor<2xi64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %b = stablehlo.constant dense<[10, 20]> : tensor<2xi64>
    %y:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@add], [@add]]} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %y#0, dense<[11, 22]> : tensor<2xi64>
    check.expect_eq %y#1, %y#0 : tensor<2xi64>
    return
  }
}

// -----

module @groups_of_different_sizes {
  func.func @largest(%x: tensor<i64>) -> tensor<i64> {
    %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %max = stablehlo.maximum %a, %b : tensor<i64>
      stablehlo.return %max : tensor<i64>
    }) {replica_groups = dense<[[0, 2], [1, -1]]> : tensor<2x2xi64>} : (tensor<i64>) -> tensor<i64>
    return %y : tensor<i64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<5> : tensor<i64>
    %b = stablehlo.constant dense<9> : tensor<i64>
    %c = stablehlo.constant dense<7> : tensor<i64>
    %y:3 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@largest], [@largest], [@largest]]} : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq %y#0, %c : tensor<i64>
    check.expect_eq %y#1, %b : tensor<i64>
    check.expect_eq %y#2, %c : tensor<i64>
    return
  }
}

// -----

module @groups_by_axes_of_a_mesh {
  func.func @sum(%x: tensor<i64>) -> tensor<i64> {
    %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %sum = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %sum : tensor<i64>
    }) {replica_groups = #stablehlo.replica_group_mesh_axes<
          mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 2>]>,
          axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<i64>) -> tensor<i64>
    return %y : tensor<i64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<i64>
    %b = stablehlo.constant dense<10> : tensor<i64>
    %c = stablehlo.constant dense<100> : tensor<i64>
    %d = stablehlo.constant dense<1000> : tensor<i64>
    %y:4 = "interpreter.run_parallel"(%a, %b, %c, %d) {programs = [[@sum], [@sum], [@sum], [@sum]]} : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %y#0, dense<101> : tensor<i64>
    check.expect_eq_const %y#1, dense<1010> : tensor<i64>
    check.expect_eq_const %y#2, dense<101> : tensor<i64>
    check.expect_eq_const %y#3, dense<1010> : tensor<i64>
    return
  }
}

// -----

module @groups_by_axes_of_a_mesh_as_printed {
  func.func @sum(%x: tensor<i64>) -> tensor<i64> {
    %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %sum = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %sum : tensor<i64>
    }) {replica_groups = #stablehlo.replica_group_mesh_axes<
          mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>, <name = "y", size = 2>], device_ids=dense<[0, 1, 2, 3]> : tensor<4xi64>>,
          axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<i64>) -> tensor<i64>
    return %y : tensor<i64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<i64>
    %b = stablehlo.constant dense<10> : tensor<i64>
    %c = stablehlo.constant dense<100> : tensor<i64>
    %d = stablehlo.constant dense<1000> : tensor<i64>
    %y:4 = "interpreter.run_parallel"(%a, %b, %c, %d) {programs = [[@sum], [@sum], [@sum], [@sum]]} : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %y#0, dense<101> : tensor<i64>
    check.expect_eq_const %y#1, dense<1010> : tensor<i64>
    check.expect_eq_const %y#2, dense<101> : tensor<i64>
    check.expect_eq_const %y#3, dense<1010> : tensor<i64>
    return
  }
}
