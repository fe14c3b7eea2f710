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
// ----- composite_without_dialect
// EXPECT: 3:8 (composite C1)
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %r = stablehlo.composite "foo." %x {decomposition = @foo} : (tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
func.func @foo(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
// ----- call_with_half_of_its_layouts
// EXPECT: 3:8 layouts of only its operands
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %r = "stablehlo.custom_call"(%x) {call_target_name = "foo", operand_layouts = [dense<[0]> : tensor<1xindex>]} : (tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// ----- call_with_layout_of_token
// EXPECT: 3:8 is no tensor
func.func @main(%t: !stablehlo.token) -> tensor<f32> {
  %r = "stablehlo.custom_call"(%t) {call_target_name = "foo", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<> : tensor<0xindex>]} : (!stablehlo.token) -> tensor<f32>
  return %r : tensor<f32>
}
// ----- typed_call_with_string
// EXPECT: 3:8 no dictionary
func.func @main() -> tensor<f32> {
  %r = "stablehlo.custom_call"() {api_version = 4 : i32, backend_config = "bar=42", call_target_name = "foo"} : () -> tensor<f32>
  return %r : tensor<f32>
}
// ----- older_call_with_dictionary
// EXPECT: 3:8 no string
func.func @main() -> tensor<f32> {
  %r = "stablehlo.custom_call"() {api_version = 3 : i32, backend_config = {bar = 42 : i32}, call_target_name = "foo"} : () -> tensor<f32>
  return %r : tensor<f32>
}
// ----- async_of_two_operations
// EXPECT: 3:8 one operation
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.collective_permute"(%0) {source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// ----- future_of_other_type
// EXPECT: 3:8 value 0 of the future
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xi32>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xi32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
