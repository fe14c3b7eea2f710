// RUN: --mesh d=4,m=2 --sharding in0=d,m;in1=d,m;in2=d,m;out0=d,m
// CHECK: by which a process sends
module @thirds {
  func.func @main(%a: tensor<5x8xf32>, %b: tensor<9x8xf32>, %c: tensor<6x8xf32>) -> tensor<13x8xf32> {
    %0 = stablehlo.slice %b [2:6, 0:8] : (tensor<9x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.slice %c [1:5, 0:8] : (tensor<6x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.concatenate %a, %0, %1, dim = 0 : (tensor<5x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<13x8xf32>
    return %2 : tensor<13x8xf32>
  }
}
