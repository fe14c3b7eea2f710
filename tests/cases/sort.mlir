func.func @with_payload() {
  %x = stablehlo.constant dense<[[3, 1, 2], [6, 6, 5]]> : tensor<2x3xi32>
  %i = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %y:2 = "stablehlo.sort"(%x, %i) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %ai: tensor<i32>, %bi: tensor<i32>):
    %lt = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>)
  check.expect_eq_const %y#0, dense<[[1, 2, 3], [5, 6, 6]]> : tensor<2x3xi32>
  check.expect_eq_const %y#1, dense<[[1, 2, 0], [2, 0, 1]]> : tensor<2x3xi32>
  func.return
}
