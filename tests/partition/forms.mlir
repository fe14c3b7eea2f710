module @forms attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  sdy.mesh @one = <["a"=1, "b"=1]>
  sdy.mesh @rev = <["a"=2, "b"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  sdy.mesh @max = <[], device_ids=[3]>
  sdy.mesh @empty = <[]>
  func.func public @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b":(1)2, ?}, {"a"}p1], replicated={"b":(2)2}>}, %w: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"b"}p2]>}, %i: tensor<i32>) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}]>}, tensor<16x8xf32>, tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, tensor<8xf32>, tensor<4x8xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"a"}>]>} : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %1 = sdy.reshard %0 <@mesh, [{"a"}, {"b"}]> : tensor<16x16xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"b", ?}, {?}]> : tensor<16x16xf32>
    sdy.sharding_group %2 group_id=3 : tensor<16x16xf32>
    %3 = sdy.propagation_barrier %2 allowed_direction=BACKWARD : tensor<16x16xf32>
    %4 = stablehlo.tanh %3 : tensor<16x16xf32>
    sdy.sharding_group %4 group_id=3 : tensor<16x16xf32>
    %5 = sdy.named_computation<"foo">(%x) in_shardings=[<@mesh, [{"b"}, {}]>] out_shardings=[<@mesh, [{}, {"b"}]>] (%y: tensor<16x8xf32>) {
      %c = stablehlo.sine %y : tensor<16x8xf32>
      sdy.return %c : tensor<16x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %6 = sdy.manual_computation(%5, %x) in_shardings=[<@mesh, [{"b"}, {"a"}]>, <@mesh, [{"b", "a", ?}, {?}]>] out_shardings=[<@mesh, [{"b"}, {"a"}]>] manual_axes={"b"} (%p: tensor<4x8xf32>, %q: tensor<4x8xf32>) {
      %s = stablehlo.add %p, %q : tensor<4x8xf32>
      %r = "stablehlo.all_reduce"(%s) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%u: tensor<f32>, %v: tensor<f32>):
        %z = stablehlo.add %u, %v : tensor<f32>
        stablehlo.return %z : tensor<f32>
      }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      sdy.return %r : tensor<4x8xf32>
    } : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
    %7 = sdy.data_flow_edge %6 sharding=<@mesh, [{?}, {?}]> : tensor<16x8xf32>
    %k = stablehlo.constant dense<1.0> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %k) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
    %10 = sdy.sharding_constraint %7 <@mesh, [{"b"}, {"a"}]> : tensor<16x8xf32>
    %a9 = sdy.all_gather [{}, {"a"}] %10 out_sharding=<@mesh, [{"b"}, {}]> : tensor<16x8xf32>
    %20 = sdy.all_slice [{"a"}, {}] %a9 out_sharding=<@mesh, [{"b", "a"}, {}]> : tensor<16x8xf32>
    %21 = sdy.all_to_all [{"a"}: 0->1] %20 out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<16x8xf32>
    %22 = sdy.collective_permute %21 out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<16x8xf32>
    %9 = sdy.all_gather [{}, {"a"}] %22 out_sharding=<@mesh, [{"b"}, {}]> : tensor<16x8xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %11 = stablehlo.dynamic_slice %9, %i, %zero, sizes = [4, 8] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    return %4, %9, %7, %8, %11 : tensor<16x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<4x8xf32>
  }
}
