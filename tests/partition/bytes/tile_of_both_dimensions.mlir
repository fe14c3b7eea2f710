// Of an array that is repeated, the array is gathered and not what repeats it.
// RUN: --mesh d=4,m=2 --sharding in0=d,m
// CHECK: by which a process sends 1008 bytes
module @tiled {
  func.func @main(%x: tensor<24x12xf32>) -> tensor<48x36xf32> {
    %0 = stablehlo.broadcast_in_dim %x, dims = [1, 3] : (tensor<24x12xf32>) -> tensor<2x24x3x12xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x24x3x12xf32>) -> tensor<48x36xf32>
    return %1 : tensor<48x36xf32>
  }
}
