// ----- attribute_missing
// EXPECT: 3:8 the attribute lower is missing
func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true} : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
// ----- vhlo_as_text
// EXPECT: 2:1 vhlo.func_v1: no operation of this name has a form without quotes
vhlo.func_v1 @main() -> () {
}
// ----- opcode_misspelt
// EXPECT: 3:8 form without quotes; nearest: stablehlo.negate
func.func @main(%a: tensor<2xf32>) {
  %r = stablehlo.negat %a : tensor<2xf32>
  return
}
// ----- operand_type
// EXPECT: 3:8 operand 0 is tensor<2xf32>, and is written as tensor<3xf32>
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.negate"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  return
}
// ----- operand_type_select
// EXPECT: 3:8 operand 0 is tensor<i1>, and is written as tensor<i32>
func.func @main(%a0: tensor<i1>, %a1: tensor<2xf32>) {
  %r = stablehlo.select %a0, %a1, %a1 : tensor<i32>, tensor<2xf32>
  return
}
// ----- operand_type_short
// EXPECT: 3:8 operand 0 is tensor<2xf32>, and is written as tensor<3xf32>
func.func @main(%a0: tensor<2xf32>) {
  %r = stablehlo.negate %a0 : tensor<3xf32>
  return
}
// ----- operand_types_count
// EXPECT: 3:10 operand 1 is tensor<3xf32>, and is written as tensor<2xf32>
func.func @main(%a0: tensor<2xf32>, %a1: tensor<3xf32>) {
  %r:2 = stablehlo.optimization_barrier %a0, %a1 : tensor<2xf32>, tensor<2xf32>
  return
}
