// Aliases of meshes and shardings: alone, in lists, and in the definitions of other aliases.
#line = #sdy.mesh<["x"=4]>
#inline = #sdy.sharding<#line, [{"x"}, {}]>
#rows = #sdy.sharding<@mesh, [{"x"}, {}]>
#columns = #sdy.sharding<@mesh, [{}, {"x"}]>
#both = #sdy.sharding_per_value<[#rows, #columns]>
module @sdy_aliases attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = #line
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #rows}, %arg1: tensor<8x4xf32>) -> (tensor<8x4xf32> {sdy.sharding = #columns}) {
    %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[#rows]>} : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %0 #columns : tensor<8x4xf32>
    %2 = sdy.sharding_constraint %0 #inline : tensor<8x4xf32>
    %3 = sdy.all_to_all [{"x"}: 1->0] %1 out_sharding=#rows : tensor<8x4xf32>
    %4:2 = sdy.manual_computation(%2, %1) in_shardings=[#rows, #columns] out_shardings=[#rows, #columns] manual_axes={"x"} (%a: tensor<2x4xf32>, %b: tensor<8x1xf32>) {
      %6 = stablehlo.reverse %a, dims = [0] : tensor<2x4xf32>
      %7 = stablehlo.reverse %b, dims = [0] : tensor<8x1xf32>
      sdy.return %6, %7 : tensor<2x4xf32>, tensor<8x1xf32>
    } : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    %5:2 = "sdy.manual_computation"(%4#0, %4#1) <{in_shardings = #both, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #both}> ({
    ^bb0(%a: tensor<2x4xf32>, %b: tensor<8x1xf32>):
      "sdy.return"(%a, %b) : (tensor<2x4xf32>, tensor<8x1xf32>) -> ()
    }) : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    %8 = stablehlo.add %5#0, %5#1 : tensor<8x4xf32>
    %9 = stablehlo.add %8, %3 : tensor<8x4xf32>
    return %9 : tensor<8x4xf32>
  }
}
