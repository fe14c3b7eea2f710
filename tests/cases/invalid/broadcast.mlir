// ----- broadcast_in_dim_c1
// EXPECT: 3:8 (broadcast_in_dim C1)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xf32>) -> tensor<2x3xi32>
  return
}
// ----- broadcast_in_dim_c2
// EXPECT: 3:8 (broadcast_in_dim C2)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}
// ----- broadcast_in_dim_c2_few
// EXPECT: 3:8 (broadcast_in_dim C2)
func.func @main(%a: tensor<2x3xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// ----- broadcast_in_dim_c3
// EXPECT: 3:8 (broadcast_in_dim C3)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 2>}> : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}
// ----- broadcast_in_dim_c3_negative
// EXPECT: 3:8 (broadcast_in_dim C3)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: -1>}> : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}
// ----- broadcast_in_dim_c3_one
// EXPECT: 3:8 (broadcast_in_dim C3)
func.func @main(%a: tensor<1xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 5>}> : (tensor<1xf32>) -> tensor<2x3xf32>
  return
}
// ----- broadcast_in_dim_c4
// EXPECT: 3:8 (broadcast_in_dim C4)
func.func @main(%a: tensor<2x2xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0, 0>}> : (tensor<2x2xf32>) -> tensor<2x3xf32>
  return
}
// ----- broadcast_in_dim_c4_ones
// EXPECT: 3:8 (broadcast_in_dim C4)
func.func @main(%a: tensor<1x1xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 1, 1>}> : (tensor<1x1xf32>) -> tensor<2x3xf32>
  return
}
// ----- broadcast_in_dim_c5
// EXPECT: 3:8 (broadcast_in_dim C5)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}
// ----- broadcast_in_dim_open
// EXPECT: 3:8 no size, want a static shape
func.func @main(%a0: tensor<3xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a0) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<?x3xf32>
  return
}
// ----- broadcast_rank
// EXPECT: 3:8 the result has rank 2, want 3
func.func @main(%a0: tensor<3xi32>) {
  %r = "stablehlo.broadcast"(%a0) {broadcast_sizes = array<i64: 1, 2>} : (tensor<3xi32>) -> tensor<2x3xi32>
  return
}
// ----- broadcast_sizes
// EXPECT: 3:8 broadcast_sizes says 2
func.func @main(%a0: tensor<3xi32>) {
  %r = "stablehlo.broadcast"(%a0) {broadcast_sizes = array<i64: 2>} : (tensor<3xi32>) -> tensor<1x3xi32>
  return
}
// ----- broadcast_in_dim_two_bounds
// EXPECT: 3:8 2 dimensions of the result have bounds, want one at most
func.func @main(%a: tensor<?x?xf32, #stablehlo.bounds<5, 5>>) {
  %r = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<?x?xf32, #stablehlo.bounds<5, 5>>) -> tensor<2x?x?xf32, #stablehlo.bounds<?, 5, 5>>
  return
}
