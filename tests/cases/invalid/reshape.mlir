// ----- reshape_c2
// EXPECT: 3:8 (reshape C2)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.reshape"(%a0) : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}
// ----- reshape_open
// EXPECT: 3:8 no size, want a static shape
func.func @main(%a0: tensor<2x4xf32>) {
  %r = stablehlo.reshape %a0 : (tensor<2x4xf32>) -> tensor<8x?xf32>
  return
}
// ----- reverse_c2
// EXPECT: 3:8 (reverse C2)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.reverse"(%a0) <{dimensions = array<i64: 0, 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// ----- reverse_c3
// EXPECT: 3:8 (reverse C3)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.reverse"(%a0) <{dimensions = array<i64: 2>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// ----- transpose_c2
// EXPECT: 3:8 (transpose C2)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.transpose"(%a0) <{permutation = array<i64: 0, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}
// ----- transpose_c3
// EXPECT: 3:8 (transpose C3)
func.func @main(%a0: tensor<2x3xf32>) {
  %r = "stablehlo.transpose"(%a0) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// ----- reshape_two_bounds
// EXPECT: 3:8 2 dimensions of the result have bounds, want one at most
func.func @main(%a: tensor<?x?xf32, #stablehlo.bounds<5, 5>>) {
  %r = stablehlo.reshape %a : (tensor<?x?xf32, #stablehlo.bounds<5, 5>>) -> tensor<?x?xf32, #stablehlo.bounds<5, 5>>
  return
}
