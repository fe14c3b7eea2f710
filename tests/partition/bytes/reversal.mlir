// Two dimensions are reversed by one permute, of what is left of them where only one was cut.
// RUN: --mesh d=4,m=2 --sharding in0=d,m;out0=d,m
// CHECK: 1 collective, by which a process sends 64 bytes
module @reversed {
  func.func @main(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
    %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}
