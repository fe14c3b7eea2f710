func.func @last_branch_for_indices_out_of_range() {
  %i = stablehlo.constant dense<-3> : tensor<i32>
  %a = stablehlo.constant dense<1.0> : tensor<f32>
  %b = stablehlo.constant dense<2.0> : tensor<f32>
  %y:2 = "stablehlo.case"(%i) ({
    stablehlo.return %a, %a : tensor<f32>, tensor<f32>
  }, {
    stablehlo.return %a, %b : tensor<f32>, tensor<f32>
  }) : (tensor<i32>) -> (tensor<f32>, tensor<f32>)
  check.expect_eq %y#0, %a : tensor<f32>
  check.expect_eq %y#1, %b : tensor<f32>
  func.return
}
