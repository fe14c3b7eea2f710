func.func @get_tuple_element() {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<2.0> : tensor<f32>
  %t = stablehlo.tuple %a, %b : tuple<tensor<i32>, tensor<f32>>
  %y = stablehlo.get_tuple_element %t[1] : (tuple<tensor<i32>, tensor<f32>>) -> tensor<f32>
  check.expect_eq %y, %b : tensor<f32>
  func.return
}
