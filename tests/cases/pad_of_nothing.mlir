// A value without elements that follows from positions alone is padded, and the result is cut.
module @jit_f attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<f32>) -> (tensor<3x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %i = stablehlo.iota dim = 0 : tensor<0x0xi32>
    %j = stablehlo.iota dim = 1 : tensor<0x0xi32>
    %c = stablehlo.compare EQ, %i, %j, SIGNED : (tensor<0x0xi32>, tensor<0x0xi32>) -> tensor<0x0xi1>
    %e = stablehlo.convert %c : (tensor<0x0xi1>) -> tensor<0x0xf32>
    %0 = stablehlo.pad %e, %arg0, low = [6, 6], high = [0, 0], interior = [0, 0] : (tensor<0x0xf32>, tensor<f32>) -> tensor<6x6xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<6x6xf32>) -> tensor<3x6x6xf32>
    return %1 : tensor<3x6x6xf32>
  }
}
