module @composite {
  func.func private @negated_sum(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
    %sum = stablehlo.add %a, %b : tensor<i32>
    %y = stablehlo.negate %sum : tensor<i32>
    return %y : tensor<i32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<2> : tensor<i32>
    %y = stablehlo.composite "own.negated_sum" %a, %a {decomposition = @negated_sum, version = 1 : i32} : (tensor<i32>, tensor<i32>) -> tensor<i32>
    check.expect_eq_const %y, dense<-4> : tensor<i32>
    return
  }
}
