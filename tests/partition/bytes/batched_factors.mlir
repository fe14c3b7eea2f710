// Matrices whose rows are cut are gathered, not moved to other processes and back, where the result is cut by batches alone.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;out0=d
// CHECK: 1 collective, by which a process sends 512 bytes
module @factors {
  func.func @main(%x: tensor<16x8x8xf32>) -> tensor<16x8x8xf32> {
    %scale = stablehlo.constant dense<0.001> : tensor<16x8x8xf32>
    %0 = stablehlo.multiply %x, %scale : tensor<16x8x8xf32>
    %1 = stablehlo.iota dim = 1 : tensor<16x8x8xf32>
    %2 = stablehlo.iota dim = 2 : tensor<16x8x8xf32>
    %3 = stablehlo.compare EQ, %1, %2 : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xi1>
    %4 = stablehlo.convert %3 : (tensor<16x8x8xi1>) -> tensor<16x8x8xf32>
    %5 = stablehlo.add %0, %4 : tensor<16x8x8xf32>
    %6 = stablehlo.cholesky %5, lower = true : tensor<16x8x8xf32>
    %7 = stablehlo.negate %6 : tensor<16x8x8xf32>
    return %7 : tensor<16x8x8xf32>
  }
}
