// A stencil over an array that is padded by its own elements: a permute for each neighbour, not the padded array's parts,
// which are larger than the array's.
// RUN: --mesh d=4,m=2 --sharding in0=d;out0=d
// CHECK: 2 collectives, by which a process sends 64 bytes
module @stencil {
  func.func @main(%x: tensor<32x8xf32>) -> tensor<32x8xf32> {
    %first = stablehlo.slice %x [0:1, 0:8] : (tensor<32x8xf32>) -> tensor<1x8xf32>
    %last = stablehlo.slice %x [31:32, 0:8] : (tensor<32x8xf32>) -> tensor<1x8xf32>
    %twice = stablehlo.broadcast_in_dim %last, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x2x8xf32>
    %repeated = stablehlo.reshape %twice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %two = stablehlo.slice %x [30:32, 0:8] : (tensor<32x8xf32>) -> tensor<2x8xf32>
    %turned = stablehlo.reverse %two, dims = [0] : tensor<2x8xf32>
    %0 = stablehlo.concatenate %last, %x, dim = 0 : (tensor<1x8xf32>, tensor<32x8xf32>) -> tensor<33x8xf32>
    %1 = stablehlo.concatenate %0, %first, dim = 0 : (tensor<33x8xf32>, tensor<1x8xf32>) -> tensor<34x8xf32>
    %left = stablehlo.slice %1 [0:34, 7:8] : (tensor<34x8xf32>) -> tensor<34x1xf32>
    %right = stablehlo.slice %1 [0:34, 0:1] : (tensor<34x8xf32>) -> tensor<34x1xf32>
    %2 = stablehlo.concatenate %left, %1, %right, dim = 1 : (tensor<34x1xf32>, tensor<34x8xf32>, tensor<34x1xf32>) -> tensor<34x10xf32>
    %3 = stablehlo.slice %2 [0:32, 1:9] : (tensor<34x10xf32>) -> tensor<32x8xf32>
    %4 = stablehlo.slice %2 [2:34, 1:9] : (tensor<34x10xf32>) -> tensor<32x8xf32>
    %5 = stablehlo.slice %2 [1:33, 0:8] : (tensor<34x10xf32>) -> tensor<32x8xf32>
    %6 = stablehlo.slice %2 [1:33, 2:10] : (tensor<34x10xf32>) -> tensor<32x8xf32>
    %7 = stablehlo.add %3, %4 : tensor<32x8xf32>
    %8 = stablehlo.add %5, %6 : tensor<32x8xf32>
    %9 = stablehlo.subtract %7, %8 : tensor<32x8xf32>
    return %9 : tensor<32x8xf32>
  }
}
