// HONEST: 1=5
// LYING: 1=9
// LYING: 1=-1
// LYING: 1=2000000000
module @m {
  func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>> {
    %0 = "stablehlo.set_dimension_size"(%x, %n) {dimension = 0 : i64} : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
    return %0 : tensor<?xf32, #stablehlo.bounds<8>>
  }
}
