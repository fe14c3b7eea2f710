// ----- abs_i1
// EXPECT: 3:8 (abs I1)
func.func @main(%a0: tensor<4xui8>) {
  %r = stablehlo.abs %a0 : tensor<4xui8>
  return
}
// ----- add_c1
// EXPECT: 3:8 (add C1)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<3x2xf32>) {
  %r = "stablehlo.add"(%a0, %a1) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}
// ----- sign_i1
// EXPECT: 3:8 (sign I1)
func.func @main(%a0: tensor<4xui8>) {
  %r = stablehlo.sign %a0 : tensor<4xui8>
  return
}
// ----- abs_of_two_types
// EXPECT: 3:8 1 operands, the type has 2
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %r = stablehlo.abs %x : (tensor<2xf64>, tensor<2xf32>) -> tensor<2xf64>
  return %r : tensor<2xf64>
}
// ----- barrier_of_one_type
// EXPECT: 3:8 2 operands and 1 types
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %r = stablehlo.optimization_barrier %x, %x : tensor<2xf64>
  return %r : tensor<2xf64>
}
// ----- highest_with_tolerances
// EXPECT: 3:8 no mode TOLERANCE
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %r = "stablehlo.cbrt"(%x) {result_accuracy = #stablehlo.result_accuracy<atol = 1.0, rtol = 0.0, ulps = 4, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
// ----- constant_like_of_other_type
// EXPECT: 3:8 another type
func.func @main(%x: tensor<1x2xi64>) -> tensor<1x2xi32> {
  %r = "chlo.constant_like"(%x) {value = 3.2 : f32} : (tensor<1x2xi64>) -> tensor<1x2xi32>
  return %r : tensor<1x2xi32>
}
