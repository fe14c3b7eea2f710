// ----- all_reduce_c1
// EXPECT: 3:8 (all_reduce C1)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }): (tensor<2xf32>) -> tensor<2xf32>
  return
}
// ----- all_reduce_c5
// EXPECT: 3:8 (all_reduce C5)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
  }): (tensor<2xf32>) -> tensor<2xf32>
  return
}
// ----- all_reduce_c6
// EXPECT: 3:8 (all_reduce C6)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }): (tensor<2xf32>) -> tensor<3xf32>
  return
}
// ----- all_reduce_c7_narrower
// EXPECT: 3:8 (all_reduce C7)
func.func @main(%a: tensor<4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %s = stablehlo.add %x, %y : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
