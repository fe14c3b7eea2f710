// A call that one device makes for all: its operand is gathered, its result is spread.
module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @maximal_mesh_2 = <[], device_ids=[2]>
  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%arg0) {api_version = 4 : i32, mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_2, []>, <@maximal_mesh_2, []>]>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
    %1 = stablehlo.convert %0#1 : (tensor<i32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %c = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %d = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %e = stablehlo.compare GE, %c, %d : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %z = stablehlo.constant dense<0.0> : tensor<4x4xf32>
    %3 = stablehlo.select %e, %0#0, %z : tensor<4x4xi1>, tensor<4x4xf32>
    %4 = stablehlo.add %3, %2 : tensor<4x4xf32>
    return %4 : tensor<4x4xf32>
  }
}
