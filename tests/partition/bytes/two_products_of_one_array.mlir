// RUN: --mesh d=4,m=2 --sharding in0=-,m;in1=d,m;in2=m+d
// CHECK: 3 collectives, by which a process sends 1024 bytes
module @products {
  func.func @main(%x: tensor<16x24xf32>, %y: tensor<24x16xf32>, %z: tensor<16x24xf32>) -> tensor<16xf32> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x24xf32>, tensor<24x16xf32>) -> tensor<16x16xf32>
    %1 = stablehlo.dot_general %x, %z, contracting_dims = [1] x [1] : (tensor<16x24xf32>, tensor<16x24xf32>) -> tensor<16x16xf32>
    %2 = stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32>
    return %2 : tensor<16xf32>
  }
}
