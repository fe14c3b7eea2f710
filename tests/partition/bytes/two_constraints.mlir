// What is gathered for one constraint is there for another one.
// RUN:
// CHECK: 1 collective, by which a process sends 384 bytes
module @constraint attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["d"=4, "m"=2]>
  func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"d"}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = sdy.sharding_constraint %x <@mesh, [{}, {}]> : tensor<16x8xf32>
    %1 = stablehlo.pad %0, %zero, low = [0, 4], high = [0, 4], interior = [0, 0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x16xf32>
    %2 = sdy.sharding_constraint %x <@mesh, [{?}, {}]> : tensor<16x8xf32>
    %3 = stablehlo.reverse %2, dims = [0] : tensor<16x8xf32>
    return %1, %3 : tensor<16x16xf32>, tensor<16x8xf32>
  }
}
