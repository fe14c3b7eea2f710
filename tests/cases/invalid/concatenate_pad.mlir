// ----- dynamic_pad_lists
// EXPECT: 3:8 dynamic_pad C2
func.func @main(%x: tensor<?xf32>, %v: tensor<f32>, %l: tensor<2xi32>) -> tensor<?xf32> {
  %r = stablehlo.dynamic_pad %x, %v, %l, %l, %l : (tensor<?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
// ----- concatenate_c2
// EXPECT: 3:8 (concatenate C2)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<2x4xf32>) {
  %r = "stablehlo.concatenate"(%a0, %a1) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}
// ----- concatenate_c4
// EXPECT: 3:8 (concatenate C4)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>) {
  %r = "stablehlo.concatenate"(%a0, %a1) <{dimension = 2 : i64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}
// ----- pad_c2
// EXPECT: 3:8 (pad C2)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  %r = "stablehlo.pad"(%a0, %a1) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}
// ----- pad_c3
// EXPECT: 3:8 (pad C3)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  %r = "stablehlo.pad"(%a0, %a1) <{edge_padding_low = array<i64: 0, 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, -1>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}
