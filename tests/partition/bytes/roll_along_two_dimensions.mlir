// A roll along two dimensions is one along each: the rows of a part go to the next one in one permute, and columns, which
// are whole, stay.
// RUN: --mesh d=4,m=2 --sharding in0=d+m;out0=d+m
// CHECK: 1 collective, by which a process sends 256 bytes
module @rolled_twice {
  func.func @main(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
    %0 = stablehlo.slice %x [14:16, 0:32] : (tensor<16x32xf32>) -> tensor<2x32xf32>
    %1 = stablehlo.slice %x [0:14, 0:32] : (tensor<16x32xf32>) -> tensor<14x32xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2x32xf32>, tensor<14x32xf32>) -> tensor<16x32xf32>
    %3 = stablehlo.slice %2 [0:16, 27:32] : (tensor<16x32xf32>) -> tensor<16x5xf32>
    %4 = stablehlo.slice %2 [0:16, 0:27] : (tensor<16x32xf32>) -> tensor<16x27xf32>
    %5 = stablehlo.concatenate %3, %4, dim = 1 : (tensor<16x5xf32>, tensor<16x27xf32>) -> tensor<16x32xf32>
    return %5 : tensor<16x32xf32>
  }
}
