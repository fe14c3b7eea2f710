// Of a pad with holes each part fetches what it needs: two of four parts one element, two none.
// RUN: --mesh d=4,m=2 --sharding in0=d;out0=d
// CHECK: 1 collective, by which a process sends 2 bytes
module @spread {
  func.func @main(%x: tensor<16xf32>) -> tensor<36xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = stablehlo.pad %x, %one, low = [1], high = [4], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<36xf32>
    return %0 : tensor<36xf32>
  }
}
