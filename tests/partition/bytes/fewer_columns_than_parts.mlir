// Four columns that are cut into two are cut into four to be sorted, by half of the axis d: not into eight.
// RUN: --mesh d=4,m=2 --sharding in0=-,m;out0=d,m
// CHECK: 1 collective, by which a process sends 1024 bytes
module @sorted {
  func.func @main(%x: tensor<1024x4xf32>) -> tensor<1024x4xf32> {
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<1024x4xf32>) -> tensor<1024x4xf32>
    return %0 : tensor<1024x4xf32>
  }
}
