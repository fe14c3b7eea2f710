// Collectives, rules and edges of sdy, beside those of forms.mlir. The last operation is on one device.
module @forms_of_collectives attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  sdy.mesh @third = <[], device_ids=[3]>
  sdy.mesh @none = <[]>
  func.func public @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<mesh<["a"=2, "b"=4]>, [{"b"}, {"a", ?}p0]>}, %w: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}], replicated={"b"}>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, tensor<16x16xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<16x8xf32>, tensor<f32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {}], unreduced={"a"}>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=16, j=16, k=8} reduction={k}>} : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %1 = sdy.all_reduce {"a"} %0 out_sharding=<@mesh, [{"b"}, {}]> : tensor<16x16xf32>
    %2 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {}], unreduced={"a"}>]>} : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %3 = sdy.reduce_scatter [{}, {"a"}] %2 out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<16x16xf32>
    %4 = sdy.sharding_constraint %x <@mesh, [{"b"}, {"a"}]> : tensor<16x8xf32>
    %5 = sdy.sharded_to_unreduced [{}, {"a"}] %4 out_sharding=<@mesh, [{"b"}, {}], unreduced={"a"}> : tensor<16x8xf32>
    %6 = sdy.all_reduce {"a"} %5 out_sharding=<@mesh, [{"b"}, {}]> : tensor<16x8xf32>
    %7 = sdy.replicated_to_unreduced {"a"} %6 out_sharding=<@mesh, [{"b"}, {}], unreduced={"a"}> : tensor<16x8xf32>
    %8 = sdy.all_reduce {"a"} %7 out_sharding=<@mesh, [{"b"}, {}]> : tensor<16x8xf32>
    %9 = stablehlo.custom_call @LayoutConstraint(%8) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, jk]) {i=16, j=4, k=2} need_replication={k} blocked_propagation={i}, custom>} : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %10 = stablehlo.reverse %9, dims = [0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=16, j=8} permutation={i}>} : tensor<16x8xf32>
    %zero = sdy.constant dense<0.0> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
    %12 = call @twice(%10) : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %13 = sdy.propagation_barrier %12 allowed_direction=FORWARD : tensor<16x8xf32>
    %14 = sdy.propagation_barrier %13 allowed_direction=NONE : tensor<16x8xf32>
    %15 = sdy.sharding_constraint %14 <@mesh, [{"b":(1)2, "a"}, {"b":(2)2, ?}p3]> : tensor<16x8xf32>
    %16 = stablehlo.custom_call @LayoutConstraint(%zero) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@third, []>]>} : (tensor<f32>) -> tensor<f32>
    return %1, %3, %8, %11, %15, %16 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<16x8xf32>, tensor<f32>
  }
  func.func private @twice(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
    %0 = sdy.func_data_flow_edge %x : tensor<16x8xf32>
    %1 = stablehlo.add %0, %0 : tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  }
}
