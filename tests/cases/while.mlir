func.func @counts_with_a_value_from_outside() {
  %i0 = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %end = stablehlo.constant dense<5> : tensor<i64>
  %r:2 = stablehlo.while(%i = %i0, %sum = %i0) : tensor<i64>, tensor<i64>
  cond {
    %go = stablehlo.compare LT, %i, %end : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i64>
    %more = stablehlo.add %sum, %next : tensor<i64>
    stablehlo.return %next, %more : tensor<i64>, tensor<i64>
  }
  check.expect_eq_const %r#0, dense<5> : tensor<i64>
  check.expect_eq_const %r#1, dense<15> : tensor<i64>
  func.return
}
