// Columns that are cut already are cut further to sort whole ones: one all-to-all there, one back.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;out0=d,m
// CHECK: 2 collectives, by which a process sends 3072 bytes
module @sorted {
  func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}
