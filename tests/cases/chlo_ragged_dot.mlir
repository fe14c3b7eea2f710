func.func @rows_in_groups() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %b = stablehlo.constant dense<[[[1.0], [1.0]], [[10.0], [0.0]]]> : tensor<2x2x1xf32>
  %sizes = stablehlo.constant dense<[1, 1]> : tensor<2xi64>
  %y = "chlo.ragged_dot"(%a, %b, %sizes) {
    ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [],
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>,
    precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>]
  } : (tensor<3x2xf32>, tensor<2x2x1xf32>, tensor<2xi64>) -> tensor<3x1xf32>
  check.expect_eq_const %y, dense<[[3.0], [30.0], [0.0]]> : tensor<3x1xf32>
  func.return
}
