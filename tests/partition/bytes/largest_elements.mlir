// Values and places of the largest elements are gathered by one collective.
// RUN: --mesh d=4,m=2 --sharding in0=d+m;out0=-;out1=-
// CHECK: by which a process sends
module @largest {
  func.func @main(%x: tensor<64xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
    %0:2 = chlo.top_k(%x, k = 3) : tensor<64xf32> -> (tensor<3xf32>, tensor<3xi32>)
    return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
  }
}
