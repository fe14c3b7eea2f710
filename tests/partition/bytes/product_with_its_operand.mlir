// An operand that a later product takes whole is gathered for both, instead of being moved otherwise for the first.
// RUN: --mesh d=4,m=2 --sharding in0=d;in1=d;out0=d;out1=-,d
// CHECK: 2 collectives, by which a process sends 1296 bytes
module @gram {
  func.func @main(%x: tensor<12x24xf32>, %y: tensor<24x24xf32>) -> (tensor<24x24xf32>, tensor<12x24xf32>) {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<12x24xf32>, tensor<24x24xf32>) -> tensor<12x24xf32>
    %1 = stablehlo.dot_general %0, %x, contracting_dims = [0] x [0] : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<24x24xf32>
    return %1, %0 : tensor<24x24xf32>, tensor<12x24xf32>
  }
}
