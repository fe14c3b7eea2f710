// What is gathered for one constraint is there for one of the transposed array, also where each is used once.
// RUN:
// CHECK: 1 collective, by which a process sends 384 bytes
module @turned attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["d"=4, "m"=2]>
  func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %b = sdy.sharding_constraint %t <@mesh, [{}, {}]> : tensor<8x16xf32>
    %a = sdy.sharding_constraint %x <@mesh, [{}, {}]> : tensor<16x8xf32>
    %1 = stablehlo.cosine %b : tensor<8x16xf32>
    %0 = stablehlo.sine %a : tensor<16x8xf32>
    return %0, %1 : tensor<16x8xf32>, tensor<8x16xf32>
  }
}
