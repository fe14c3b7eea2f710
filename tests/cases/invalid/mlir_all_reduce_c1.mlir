// EXPECT: 3:8 (all_reduce C1)
func.func @main(%a: tensor<2xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }): (tensor<2xf32>) -> tensor<2xf32>
  return
}
