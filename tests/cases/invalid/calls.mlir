// ----- call_callee
// EXPECT: 3:8 there is no function @nobody
func.func @main(%a: tensor<2xf32>) {
  %r = "func.call"(%a) <{callee = @nobody}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// ----- call_result
// EXPECT: 6:8 declared as f32[3], want f32[2]
func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @main(%a: tensor<2xf32>) {
  %r = func.call @f(%a) : (tensor<2xf32>) -> tensor<3xf32>
  return
}
// ----- custom_call_layout
// EXPECT: 3:8 layout 0 is no permutation
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a0) {call_target_name = "f", operand_layouts = [dense<[0, 2]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// ----- custom_call_layouts
// EXPECT: 3:8 a layout of 1 dimensions for rank 2
func.func @main(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[0]> : tensor<1xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// ----- function_argument
// EXPECT: 3:3 block argument 0 is f32[3], and the function's type says f32[2]
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>) -> (), sym_name = "main"}> ({
  ^bb0(%a: tensor<3xf32>):
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// ----- return_first
// EXPECT: 3:3 more operations follow the one that returns
func.func @main() {
  return
  return
}
// ----- return_open
// EXPECT: 3:3 value 0 is f32[2], and the function's type says f32[?]
func.func @main(%x: tensor<2xf32>) -> tensor<?xf32> {
  return %x : tensor<2xf32>
}
// ----- return_type
// EXPECT: 4:3 operand 0 is tensor<2xf32>, and is written as tensor<2xi32>
func.func @main(%a: tensor<2xf32>) -> tensor<2xi32> {
  %r = stablehlo.negate %a : tensor<2xf32>
  return %r : tensor<2xi32>
}
// ----- uncalled
// EXPECT: 8:8 of 9 elements, want the 8 of f32[2,4] (reshape C2)
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// Nothing calls it.
func.func private @other(%x: tensor<2x4xf32>) -> tensor<3x3xf32> {
  %0 = stablehlo.reshape %x : (tensor<2x4xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
