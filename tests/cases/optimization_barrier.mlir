func.func @optimization_barrier() {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<2.0> : tensor<f32>
  %y:2 = stablehlo.optimization_barrier %a, %b : tensor<i32>, tensor<f32>
  check.expect_eq %y#0, %a : tensor<i32>
  check.expect_eq %y#1, %b : tensor<f32>
  func.return
}
