module @ids {
  func.func @ids() -> (tensor<ui32>, tensor<ui32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %p = stablehlo.partition_id : tensor<ui32>
    return %r, %p : tensor<ui32>, tensor<ui32>
  }
  func.func @main() {
    %y:8 = "interpreter.run_parallel"() {programs = [[@ids, @ids], [@ids, @ids]]} : () -> (tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>)
    check.expect_eq_const %y#2, dense<0> : tensor<ui32>
    check.expect_eq_const %y#3, dense<1> : tensor<ui32>
    check.expect_eq_const %y#4, dense<1> : tensor<ui32>
    check.expect_eq_const %y#5, dense<0> : tensor<ui32>
    return
  }
}
