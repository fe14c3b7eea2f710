// HONEST: 2=s32[1]{1} 3=s32[1]{1} 4=s32[1]{0}
// LYING: 2=s32[1]{1000} 3=s32[1]{1} 4=s32[1]{0}
// LYING: 2=s32[1]{-1} 3=s32[1]{0} 4=s32[1]{0}
// LYING: 2=s32[1]{2147483647} 3=s32[1]{-2147483647} 4=s32[1]{2147483647}
module @m {
  func.func @main(%x: tensor<2xf32>, %v: tensor<f32>, %a: tensor<1xi32>, %b: tensor<1xi32>, %c: tensor<1xi32>) -> tensor<4xf32> {
    %0 = "stablehlo.dynamic_pad"(%x, %v, %a, %b, %c) : (tensor<2xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
