// A sort of a whole array, of which results are wanted in two shardings, is done in both: nothing moves.
// RUN: --mesh d=4,m=2 --sharding in0=-;out0=d;out1=m
// CHECK: 0 collectives
module @both {
  func.func @main(%x: tensor<16x18xf32>) -> (tensor<16x18xf32>, tensor<16x18xi32>) {
    %i = stablehlo.iota dim = 1 : tensor<16x18xi32>
    %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<16x18xf32>, tensor<16x18xi32>) -> (tensor<16x18xf32>, tensor<16x18xi32>)
    return %0#0, %0#1 : tensor<16x18xf32>, tensor<16x18xi32>
  }
}
