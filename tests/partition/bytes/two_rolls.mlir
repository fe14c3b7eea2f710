// Two rolls of one array are a permute each. What a slice was gathered for, which its concatenation does not read, is not
// there for the next.
// RUN: --mesh d=4,m=2 --sharding in0=d;out0=d
// CHECK: 2 collectives, by which a process sends 12 bytes
module @rolls {
  func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.slice %x [2:16] : (tensor<16xf32>) -> tensor<14xf32>
    %1 = stablehlo.slice %x [0:2] : (tensor<16xf32>) -> tensor<2xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<14xf32>, tensor<2xf32>) -> tensor<16xf32>
    %3 = stablehlo.slice %x [1:16] : (tensor<16xf32>) -> tensor<15xf32>
    %4 = stablehlo.slice %x [0:1] : (tensor<16xf32>) -> tensor<1xf32>
    %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<15xf32>, tensor<1xf32>) -> tensor<16xf32>
    %6 = stablehlo.multiply %2, %5 : tensor<16xf32>
    return %6 : tensor<16xf32>
  }
}
