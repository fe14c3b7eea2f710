// HONEST: 1=s32[1]{0} 2=s32[1]{2} 3=s32[1]{1}
// LYING: 1=s32[1]{0} 2=s32[1]{1000} 3=s32[1]{1}
// LYING: 1=s32[1]{-5} 2=s32[1]{-3} 3=s32[1]{1}
// LYING: 1=s32[1]{0} 2=s32[1]{2} 3=s32[1]{0}
// LYING: 1=s32[1]{0} 2=s32[1]{1} 3=s32[1]{1}
// LYING: 1=s32[1]{1000} 2=s32[1]{1002} 3=s32[1]{1}
module @m {
  func.func @main(%x: tensor<1000xf32>, %s: tensor<1xi32>, %l: tensor<1xi32>, %t: tensor<1xi32>) -> tensor<2xf32> {
    %0 = "stablehlo.real_dynamic_slice"(%x, %s, %l, %t) : (tensor<1000xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
