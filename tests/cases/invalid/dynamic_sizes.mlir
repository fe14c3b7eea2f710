// ----- dynamic_broadcast_sizes
// EXPECT: 3:8 dynamic_broadcast_in_dim C7
func.func @main(%x: tensor<?xf32>, %n: tensor<3xi32>) -> tensor<?x?xf32> {
  %r = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1] : (tensor<?xf32>, tensor<3xi32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
