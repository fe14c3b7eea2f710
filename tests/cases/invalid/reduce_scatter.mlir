// ----- reduce_scatter_c1
// EXPECT: 3:8 (reduce_scatter C1)
func.func @main(%a: tensor<3xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }): (tensor<3xf32>) -> tensor<1xf32>
  return
}
// ----- reduce_scatter_c2
// EXPECT: 3:8 (reduce_scatter C2)
func.func @main(%a: tensor<4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }): (tensor<4xf32>) -> tensor<2xf32>
  return
}
// ----- reduce_scatter_c8
// EXPECT: 3:8 (reduce_scatter C8)
func.func @main(%a: tensor<4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }): (tensor<4xf32>) -> tensor<4xf32>
  return
}
// ----- reduce_scatter_c9_narrower
// EXPECT: 3:8 (reduce_scatter C9)
func.func @main(%a: tensor<4x16xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %s = stablehlo.add %x, %y : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) : (tensor<4x16xf32>) -> tensor<4x4xf32>
  return
}
