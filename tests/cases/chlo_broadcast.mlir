func.func @numpy_style() {
  %a = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %b = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %sum = chlo.broadcast_add %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %product = chlo.broadcast_multiply %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %sum, dense<[[11, 21, 31], [12, 22, 32]]> : tensor<2x3xi32>
  check.expect_eq_const %product, dense<[[10, 20, 30], [20, 40, 60]]> : tensor<2x3xi32>
  func.return
}

// -----

func.func @by_dimension_numbers() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %y = chlo.broadcast_subtract %a, %b {broadcast_dimensions = array<i64: 0>} : (tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[-9, -8], [-17, -16]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @others() {
  %a = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<2.0> : tensor<f32>
  %lt = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction LT>, compare_type = #chlo<comparison_type FLOAT>} : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
  %z = chlo.broadcast_complex %a, %b : (tensor<2xf32>, tensor<f32>) -> tensor<2xcomplex<f32>>
  %power = chlo.broadcast_power %a, %b : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %chosen = chlo.broadcast_select %lt, %a, %b : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %lt, dense<[true, false]> : tensor<2xi1>
  check.expect_eq_const %z, dense<[(1.0, 2.0), (4.0, 2.0)]> : tensor<2xcomplex<f32>>
  check.expect_eq_const %power, dense<[1.0, 16.0]> : tensor<2xf32>
  check.expect_eq_const %chosen, dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}
