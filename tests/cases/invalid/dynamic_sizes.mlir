// ----- dynamic_broadcast_sizes
// EXPECT: 3:8 dynamic_broadcast_in_dim C7
func.func @main(%x: tensor<?xf32>, %n: tensor<3xi32>) -> tensor<?x?xf32> {
  %r = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1] : (tensor<?xf32>, tensor<3xi32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
// ----- dynamic_broadcast_constant_sizes
// EXPECT: 4:8 dynamic_broadcast_in_dim C7
func.func @main(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %n = stablehlo.constant dense<[1, 4]> : tensor<2xi64>
  %r = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1] : (tensor<4xf32>, tensor<2xi64>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
// ----- dynamic_broadcast_operand_size
// EXPECT: 4:8 dynamic_broadcast_in_dim C5
func.func @main(%x: tensor<1x3xi32>) {
  %n = stablehlo.constant dense<[2, 1, 1]> : tensor<3xi32>
  %r = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1, 2] : (tensor<1x3xi32>, tensor<3xi32>) -> tensor<?x?x?xi32>
  return
}
// ----- dynamic_broadcast_unknown_count
// EXPECT: 3:8 dynamic_broadcast_in_dim C7
func.func @main(%x: tensor<4xi32>, %n: tensor<?xi64>) {
  %r = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1] : (tensor<4xi32>, tensor<?xi64>) -> tensor<3x4xi32>
  return
}
// ----- dynamic_broadcast_expands_twice
// EXPECT: 3:8 dynamic_broadcast_in_dim C8
func.func @main(%x: tensor<?x?xi32>, %n: tensor<3xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%x, %n) {broadcast_dimensions = array<i64: 1, 2>, known_expanding_dimensions = array<i64: 0, 0>} : (tensor<?x?xi32>, tensor<3xi64>) -> tensor<?x?x?xi32>
  return
}
// ----- dynamic_broadcast_expands_none
// EXPECT: 3:8 dynamic_broadcast_in_dim C9
func.func @main(%x: tensor<?x?xi32>, %n: tensor<3xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%x, %n) {broadcast_dimensions = array<i64: 1, 2>, known_expanding_dimensions = array<i64: 3>} : (tensor<?x?xi32>, tensor<3xi64>) -> tensor<?x?x?xi32>
  return
}
// ----- dynamic_reshape_constant_sizes
// EXPECT: 4:8 dynamic_reshape C4
func.func @main(%x: tensor<4xf32>) {
  %n = stablehlo.constant dense<2> : tensor<2xi64>
  %r = stablehlo.dynamic_reshape %x, %n : (tensor<4xf32>, tensor<2xi64>) -> tensor<1x4xf32>
  return
}
// ----- dynamic_reshape_count
// EXPECT: 4:8 dynamic_reshape C2
func.func @main(%x: tensor<2x5xf32>) {
  %n = stablehlo.constant dense<[2, 3, 4]> : tensor<3xi32>
  %r = stablehlo.dynamic_reshape %x, %n : (tensor<2x5xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
  return
}
// ----- dynamic_iota_negative_size
// EXPECT: 4:8 dynamic_iota C2
func.func @main() {
  %n = stablehlo.constant dense<-1> : tensor<1xi64>
  %r = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<4xf32>
  return
}
// ----- dynamic_pad_interior
// EXPECT: 4:8 dynamic_pad C3
func.func @main(%x: tensor<4xf64>, %v: tensor<f64>, %low: tensor<1xi32>, %high: tensor<1xi32>) {
  %n = stablehlo.constant dense<-1> : tensor<1xi32>
  %r = stablehlo.dynamic_pad %x, %v, %low, %high, %n : (tensor<4xf64>, tensor<f64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf64>
  return
}
// ----- bounds_of_some_dimensions
// EXPECT: 2:57 as many bounds
func.func @main(%x: tensor<?x?xf32, #stablehlo.bounds<3>>) {
  return
}
