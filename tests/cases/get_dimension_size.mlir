func.func @get_dimension_size() {
  %x = stablehlo.constant dense<0.0> : tensor<2x5xf32>
  %y = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x5xf32>) -> tensor<i32>
  check.expect_eq_const %y, dense<5> : tensor<i32>
  func.return
}
