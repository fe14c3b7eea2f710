func.func @if() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<2> : tensor<i32>
  %y = "stablehlo.if"(%p) ({
    check.expect_eq_const %a, dense<1> : tensor<i32>
    stablehlo.return %a : tensor<i32>
  }, {
    check.expect_eq_const %a, dense<9> : tensor<i32>
    stablehlo.return %b : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  check.expect_eq %y, %a : tensor<i32>
  func.return
}
