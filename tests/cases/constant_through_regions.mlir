// The comparison within a branch uses a constant from outside of both.
func.func @constant_through_two_regions() {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %x = stablehlo.constant dense<[3.0, -5.0, 1.0]> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.case"(%i) ({
    %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %zero : tensor<f32>
      %d = stablehlo.maximum %b, %zero : tensor<f32>
      %l = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    }) : (tensor<3xf32>) -> tensor<3xf32>
    stablehlo.return %s : tensor<3xf32>
  }, {
    stablehlo.return %x : tensor<3xf32>
  }) : (tensor<i32>) -> tensor<3xf32>
  check.expect_eq_const %y, dense<[-5.0, 1.0, 3.0]> : tensor<3xf32>
  func.return
}
