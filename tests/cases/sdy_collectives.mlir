// Shardy's collectives one after the other, and what else it writes into its dumps: each changes the sharding of its
// operand and no value.
module @collectives attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @m = <["x"=2, "y"=2]>
  sdy.mesh @back = <["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}p1, {?}], replicated={"y"}>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y"}, {}]>}) {
    %0 = sdy.all_slice [{"y"}, {}] %arg0 out_sharding=<@m, [{"x", "y"}, {}]> : tensor<8x4xf32>
    %1 = sdy.all_to_all [{"y"}: 0->1] %0 out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x4xf32>
    %2 = sdy.collective_permute %1 out_sharding=<@m, [{"y"}, {"x"}]> : tensor<8x4xf32>
    %3 = sdy.all_gather [{}, {"x"}] %2 out_sharding=<@m, [{"y"}, {}]> : tensor<8x4xf32>
    %4 = sdy.sharded_to_unreduced [{"y"}, {}] %3 out_sharding=<@m, [{}, {}], unreduced={"y"}> : tensor<8x4xf32>
    %5 = sdy.reduce_scatter sum [{}, {"y"}] %4 out_sharding=<@m, [{}, {"y"}]> : tensor<8x4xf32>
    %6 = sdy.replicated_to_unreduced {"x"} %5 out_sharding=<@m, [{}, {"y"}], unreduced={"x"}> : tensor<8x4xf32>
    %7 = sdy.all_reduce {"x"} %6 out_sharding=<@m, [{}, {"y"}]> : tensor<8x4xf32>
    %8 = sdy.all_reduce max {} %7 out_sharding=<@m, [{}, {"y"}]> : tensor<8x4xf32>
    %9 = sdy.collective_permute %8 out_sharding=<@back, [{}, {"y"}]> : tensor<8x4xf32>
    %10 = stablehlo.add %9, %arg0 {sdy.propagation_edges = #sdy.propagation_edges<[{step-2 = [{"x" = operand-1 -> [result-0]}]}, {step-0 = [{"y":(1)2 = result-0 -> [operand-1]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {?}]>]>} : tensor<8x4xf32>
    %11 = sdy.named_computation<"twice">(%10) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<mesh<["x"=2, "y"=2]>, [{"x"}, {}]>] (%arg1: tensor<8x4xf32>) {
      %13 = stablehlo.add %arg1, %arg1 : tensor<8x4xf32>
      sdy.return {sdy.sharding = #sdy.sharding_per_value<[]>} %13 : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %14 = stablehlo.constant dense<1.0> : tensor<0x4xf32>
    %15 = stablehlo.negate %14 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=0, j=4}>} : tensor<0x4xf32>
    %12 = sdy.data_flow_edge %11 sharding=<@m, [{"x"}, {}]> : tensor<8x4xf32>
    return %12 : tensor<8x4xf32>
  }
}
