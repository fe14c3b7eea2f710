// The order of rows, by which others are taken, comes without the sorted rows themselves.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;out0=d,m
// CHECK: 2 collectives, by which a process sends 96 bytes
module @ordered {
  func.func @main(%x: tensor<16x8xf32>) -> tensor<16x8xi32> {
    %i = stablehlo.iota dim = 0 : tensor<16x8xi32>
    %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<16x8xf32>, tensor<16x8xi32>) -> (tensor<16x8xf32>, tensor<16x8xi32>)
    return %0#1 : tensor<16x8xi32>
  }
}
