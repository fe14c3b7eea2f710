func.func @select() {
  %p = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %q = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = stablehlo.constant dense<[4, 5, 6]> : tensor<3xi32>
  %each = stablehlo.select %p, %a, %b : tensor<3xi1>, tensor<3xi32>
  %all = stablehlo.select %q, %a, %b : tensor<i1>, tensor<3xi32>
  check.expect_eq_const %each, dense<[1, 5, 3]> : tensor<3xi32>
  check.expect_eq %all, %b : tensor<3xi32>
  func.return
}
