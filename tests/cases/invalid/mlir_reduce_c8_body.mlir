// EXPECT: 3:8 (reduce C8)
func.func @main(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  %r = "stablehlo.reduce"(%a0, %a1) <{dimensions = array<i64: 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
