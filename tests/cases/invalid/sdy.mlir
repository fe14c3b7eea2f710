// ----- mesh_size_zero
// EXPECT: 2:25 sdy.mesh: mesh axis "y" has size 0, want 1 or more
sdy.mesh @m = <["x"=2, "y"=0]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- mesh_axis_twice
// EXPECT: 2:25 sdy.mesh: there are two mesh axes "x"
sdy.mesh @m = <["x"=2, "x"=4]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- mesh_ids_negative
// EXPECT: 2:32 the mesh has "-1]", want a number below 2^31
sdy.mesh @m = <[], device_ids=[-1]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- mesh_ids_without_axes
// EXPECT: 2:16 sdy.mesh: the mesh lists 2 devices, want 1
sdy.mesh @m = <[], device_ids=[1, 0]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- mesh_ids_count
// EXPECT: 2:16 sdy.mesh: the mesh lists 3 devices, want 4
sdy.mesh @m = <["x"=2, "y"=2], device_ids=[0, 1, 2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- mesh_ids_twice
// EXPECT: 2:16 sdy.mesh: the mesh lists device 1 twice, want 0 to 1, each once
sdy.mesh @m = <["x"=2], device_ids=[1, 1]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- mesh_ids_beyond
// EXPECT: 2:16 sdy.mesh: the mesh lists device 2, want 0 to 1, each once
sdy.mesh @m = <["x"=2], device_ids=[2, 1]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- mesh_text
// EXPECT: 2:25 the mesh has "ids=[0]", want "device_ids"
sdy.mesh @m = <["x"=2], ids=[0]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- mesh_name_twice
// EXPECT: 3:1 sdy.mesh: there are two meshes @m
sdy.mesh @m = <["x"=2]>
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- sharding_no_mesh
// EXPECT: 4:36 sdy.sharding_constraint: there is no mesh @n; the program has @m
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@n, [{}, {"x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_no_axis
// EXPECT: 4:47 sdy.sharding_constraint: the mesh has no axis "z", want one of ["x"=2, "y"=4]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {"z"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_no_axis_replicated
// EXPECT: 4:63 sdy.sharding_constraint: the mesh has no axis "z", want one of ["x"=2, "y"=4]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], replicated={"z"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_no_axis_unreduced
// EXPECT: 4:62 sdy.sharding_constraint: the mesh has no axis "z", want one of ["x"=2, "y"=4]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], unreduced={"z"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_no_axis_inline
// EXPECT: 4:58 sdy.sharding_constraint: the mesh has no axis "y", want one of ["x"=2]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <mesh<["x"=2]>, [{}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_rank
// EXPECT: 4:36 sdy.sharding_constraint: a sharding of 1 dimension for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_axis_twice
// EXPECT: 4:50 sdy.sharding_constraint: axis "x" is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"x"}, {"x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_axis_twice_in_dim
// EXPECT: 4:53 sdy.sharding_constraint: axis "y" is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y", "x", "y"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_axis_twice_replicated
// EXPECT: 4:66 sdy.sharding_constraint: axis "x" is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"x"}, {}], replicated={"x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_axis_twice_unreduced
// EXPECT: 4:65 sdy.sharding_constraint: axis "x" is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"x"}, {}], unreduced={"x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_axis_replicated_unreduced
// EXPECT: 4:80 sdy.sharding_constraint: axis "x" is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], replicated={"x"}, unreduced={"x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_part_of_axis
// EXPECT: 4:50 sdy.sharding_constraint: axis "y":(2)2 is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y"}, {"y":(2)2}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_parts_overlap
// EXPECT: 4:55 sdy.sharding_constraint: axis "y":(2)4 is used twice
sdy.mesh @m = <["y"=8]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y":(1)4}, {"y":(2)4}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_replicated_order
// EXPECT: 4:68 sdy.sharding_constraint: replicated axes "y", "x", want them in the order of the mesh
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], replicated={"y", "x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_unreduced_order
// EXPECT: 4:67 sdy.sharding_constraint: unreduced axes "y", "x", want them in the order of the mesh
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], unreduced={"y", "x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_replicated_part_order
// EXPECT: 4:73 sdy.sharding_constraint: replicated axes "y":(2)2, "y":(1)2, want them in the order of the mesh
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], replicated={"y":(2)2, "y":(1)2}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_priority_of_nothing
// EXPECT: 4:48 sdy.sharding_constraint: dimension 1 has a priority, but is closed and has no axes
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"x"}, {}p2]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_priority_word
// EXPECT: 4:46 the sharding has "phigh, {}]", want a priority such as p1
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"x"}phigh, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_priority_large
// EXPECT: 4:47 the sharding has "9999999999999999999,", want a number below 2^63
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"x"}p9999999999999999999, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_priority_zeros
// EXPECT: 4:46 the sharding has "p01, {}]", want a priority without leading zeros
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"x"}p01, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_parts_are_neighbours
// EXPECT: 4:53 sdy.sharding_constraint: sub-axes "y":(2)2, "y":(4)2 are neighbours, want one sub-axis
sdy.mesh @m = <["y"=16]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y":(2)2, "y":(4)2}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_replicated_neighbours
// EXPECT: 4:73 sdy.sharding_constraint: sub-axes "y":(1)2, "y":(2)2 are neighbours, want one sub-axis
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], replicated={"y":(1)2, "y":(2)2}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_part_pre_negative
// EXPECT: 4:47 the sharding has "-1)2}, {}]", want a number below 2^31
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y":(-1)2}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_part_pre_zero
// EXPECT: 4:43 sdy.sharding_constraint: sub-axis (0)2 of axis "y", want one of at least 2 that divides 4
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y":(0)2}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_part_size_one
// EXPECT: 4:43 sdy.sharding_constraint: sub-axis (2)1 of axis "y", want one of at least 2 that divides 4
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y":(2)1}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_part_divides
// EXPECT: 4:43 sdy.sharding_constraint: sub-axis (3)2 of axis "y", want one of at least 2 that divides 4
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y":(3)2}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_part_beyond
// EXPECT: 4:43 sdy.sharding_constraint: sub-axis (2)4 of axis "y", want one of at least 2 that divides 4
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y":(2)4}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_part_whole
// EXPECT: 4:43 sdy.sharding_constraint: sub-axis (1)4 is all of axis "y", want the name alone
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"y":(1)4}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_maximal_dims
// EXPECT: 4:36 sdy.sharding_constraint: a sharding of 2 dimensions, or with further axes, on a mesh of one device: want [] alone
sdy.mesh @m = <[], device_ids=[0]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_one_device
// EXPECT: 4:36 sdy.sharding_constraint: a sharding of 3 dimensions for a value of rank 2
sdy.mesh @m = <["x"=1, "y"=1]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{"x", "y"}, {}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_equals
// EXPECT: 4:60 the sharding has "{"x"}", want "="
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], replicated{"x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_bracket
// EXPECT: 4:60 the sharding has "["x"]", want "{"
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], unreduced=["x"]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_quotes
// EXPECT: 4:62 the sharding has "x}", want """
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], replicated={x}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_word
// EXPECT: 4:50 the sharding has "partial={"x"}", want replicated={...} or unreduced={...}, each once
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], partial={"x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_comma
// EXPECT: 4:49 the sharding ends early, want replicated={...} or unreduced={...}, each once
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}],> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_word_twice
// EXPECT: 4:68 the sharding has "replicated={"y"}", want replicated={...} or unreduced={...}, each once
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], replicated={"x"}, replicated={"y"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharding_no_dims
// EXPECT: 4:38 the sharding ends early, want ","
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- argument_rank
// EXPECT: 3:67 func.func: argument 0: a sharding of 1 dimension for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8x8xf32> {
  return %a : tensor<8x8xf32>
}
// ----- argument_order
// EXPECT: 3:99 func.func: argument 0: replicated axes "y", "x", want them in the order of the mesh
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}], replicated={"y", "x"}>}) -> tensor<8x8xf32> {
  return %a : tensor<8x8xf32>
}
// ----- argument_token
// EXPECT: 3:68 func.func: argument 0: a sharding of 1 dimensions, or with further axes, for a value that is no array: want [] alone
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: !stablehlo.token {sdy.sharding = #sdy.sharding<@m, [{}]>}) -> !stablehlo.token {
  return %a : !stablehlo.token
}
// ----- argument_dynamic
// EXPECT: 3:67 func.func: argument 0: a sharding of 1 dimension for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<?x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<?x8xf32> {
  return %a : tensor<?x8xf32>
}
// ----- argument_list
// EXPECT: 3:51 func.func: argument 0: sdy.sharding is not #sdy.sharding<...>
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ----- result_axis
// EXPECT: 3:106 func.func: result 1: the mesh has no axis "z", want one of ["x"=2, "y"=4]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"z"}]>}) {
  return %a, %a : tensor<8xf32>, tensor<8xf32>
}
// ----- op_sharding_of_one
// EXPECT: 4:44 stablehlo.negate: sdy.sharding is not #sdy.sharding_per_value<[...]>
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.negate %a {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- op_sharding_count
// EXPECT: 4:68 stablehlo.negate: 2 shardings for 1 result
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>, <@m, [{}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- op_sharding_second_line
// EXPECT: 5:22 stablehlo.negate: result: the mesh has no axis "w", want one of ["x"=2, "y"=4]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[
      <@m, [{"x"}, {"w"}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- op_sharding_of_second
// EXPECT: 4:110 stablehlo.optimization_barrier: result 1: axis "x" is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>, <@m, [{"x", "x"}]>]>} %a, %a : tensor<8xf32>, tensor<8xf32>
  return %r#0 : tensor<8xf32>
}
// ----- op_sharding_tuple
// EXPECT: 4:79 stablehlo.custom_call: result: a sharding for a tuple of 2, want of 1
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>>
  return %r : tuple<tensor<8xf32>, tensor<8xf32>>
}
// ----- constraint_other_reduction
// EXPECT: 4:62 sdy.sharding_constraint: axis "x" is unreduced of a sum, want the operand's max
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}], unreduced=max{"x"}>}) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- constraint_adds_max
// EXPECT: 4:65 sdy.sharding_constraint: axis "x" becomes unreduced of a max, want of a sum
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.sharding_constraint %a <@m, [{}, {}], unreduced=max{"x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- reshard_rank
// EXPECT: 4:24 sdy.reshard: a sharding of 1 dimension for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.reshard %a <@m, [{}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- reshard_other_reduction
// EXPECT: 4:50 sdy.reshard: axis "x" is unreduced of a sum, want the operand's min
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}], unreduced=min{"x"}>}) -> tensor<8x8xf32> {
  %r = sdy.reshard %a <@m, [{}, {}], unreduced={"x", "y"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_without
// EXPECT: 4:8 sdy.all_gather: its operand has no sharding, want one
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_mesh
// EXPECT: 5:52 sdy.all_gather: the mesh of out_sharding is not that of the operand
sdy.mesh @m = <["x"=2, "y"=4]>
sdy.mesh @n = <["a"=2, "b"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{}, {"b"}] %a out_sharding=<@n, [{"a"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_axis_twice
// EXPECT: 4:33 sdy.all_gather: axis "x" is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{"x"}, {"x"}] %a out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_neighbours
// EXPECT: 4:40 sdy.all_gather: sub-axes "y":(1)2, "y":(2)2 are neighbours, want one sub-axis
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{}, {"y":(1)2, "y":(2)2}] %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_rank
// EXPECT: 4:23 sdy.all_gather: 1 list of axes for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{"x"}] %a out_sharding=<@m, [{}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_not_there
// EXPECT: 4:26 sdy.all_gather: takes axis "y" from the end of dimension 0, which has ["x"]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{"y"}, {}] %a out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_major_part
// EXPECT: 4:30 sdy.all_gather: takes axis "y":(1)2 from the end of dimension 1, which has ["y"]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{}, {"y":(1)2}] %a out_sharding=<@m, [{"x"}, {"y":(2)2}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_keeps
// EXPECT: 4:64 sdy.all_gather: out_sharding has ["y"] in dimension 1, want [] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_keeps_part
// EXPECT: 4:69 sdy.all_gather: out_sharding has [] in dimension 1, want ["y":(1)2] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{}, {"y":(2)2}] %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_gather_out
// EXPECT: 4:66 sdy.all_gather: axis "x" is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_gather [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {"x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_slice_not_added
// EXPECT: 4:63 sdy.all_slice: out_sharding has [] in dimension 1, want ["y"] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_slice [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_slice_order
// EXPECT: 4:61 sdy.all_slice: out_sharding has ["x", "y"] in dimension 0, want ["y", "x"] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_slice [{"y", "x"}, {}] %a out_sharding=<@m, [{"x", "y"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_slice_of_whole
// EXPECT: 4:56 sdy.all_slice: out_sharding has ["x"] in dimension 0, want [] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.all_slice [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_slice_rank
// EXPECT: 4:22 sdy.all_slice: 3 lists of axes for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.all_slice [{}, {"y"}, {}] %a out_sharding=<@m, [{}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_to_all_nothing
// EXPECT: 4:23 sdy.all_to_all: no axes to move, want some
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_to_all [] %a out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_to_all_without
// EXPECT: 4:8 sdy.all_to_all: its operand has no sharding, want one
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.all_to_all [{"x"}: 0->1] %a out_sharding=<@m, [{}, {"x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_to_all_source
// EXPECT: 4:31 sdy.all_to_all: source dimension 2, want 0 to 1
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_to_all [{"x"}: 2->1] %a out_sharding=<@m, [{}, {"y", "x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_to_all_target
// EXPECT: 4:34 sdy.all_to_all: target dimension -1, want 0 to 1
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_to_all [{"x"}: 0->-1] %a out_sharding=<@m, [{}, {"y", "x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_to_all_same
// EXPECT: 4:34 sdy.all_to_all: dimension 0 is moved from or to twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_to_all [{"x"}: 0->0] %a out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_to_all_twice
// EXPECT: 4:44 sdy.all_to_all: dimension 1 is moved from or to twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_to_all [{"x"}: 0->1, {"y"}: 1->0] %a out_sharding=<@m, [{"y"}, {"x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_to_all_not_there
// EXPECT: 4:26 sdy.all_to_all: takes axis "y" from the end of dimension 0, which has ["x"]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_to_all [{"y"}: 0->1] %a out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_to_all_not_moved
// EXPECT: 4:63 sdy.all_to_all: out_sharding has ["y"] in dimension 1, want ["y", "x"] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_to_all [{"x"}: 0->1] %a out_sharding=<@m, [{}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_to_all_order
// EXPECT: 4:37 sdy.all_to_all: source dimension 0 comes after 2, want ascending ones
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {"y"}, {}]>}) -> tensor<8x8x8x8xf32> {
  %r = sdy.all_to_all [{"y"}: 2->1, {"x"}: 0->3] %a out_sharding=<@m, [{}, {"y"}, {}, {"x"}]> : tensor<8x8x8x8xf32>
  return %r : tensor<8x8x8x8xf32>
}
// ----- all_to_all_other_dim
// EXPECT: 4:63 sdy.all_to_all: out_sharding has [] in dimension 1, want ["y"] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}, {}]>}) -> tensor<8x8x8xf32> {
  %r = sdy.all_to_all [{"x"}: 0->2] %a out_sharding=<@m, [{}, {}, {"x"}]> : tensor<8x8x8xf32>
  return %r : tensor<8x8x8xf32>
}
// ----- permute_without
// EXPECT: 4:8 sdy.collective_permute: its operand has no sharding, want one
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.collective_permute %a out_sharding=<@m, [{}, {"x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- permute_mesh
// EXPECT: 5:48 sdy.collective_permute: the mesh of out_sharding has other axes than that of the operand
sdy.mesh @m = <["x"=2, "y"=4]>
sdy.mesh @n = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.collective_permute %a out_sharding=<@n, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- permute_mesh_again
// EXPECT: 5:48 sdy.collective_permute: mesh @n has the devices of the operand's mesh @m, want that one
sdy.mesh @m = <["x"=2, "y"=4]>
sdy.mesh @n = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.collective_permute %a out_sharding=<@n, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- permute_parts
// EXPECT: 4:53 sdy.collective_permute: out_sharding cuts dimension 0 into 4 parts, want the operand's 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.collective_permute %a out_sharding=<@m, [{"y"}, {"x"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_dims
// EXPECT: 4:55 sdy.all_reduce: out_sharding has [] in dimension 1, want ["y"] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {} %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_mesh
// EXPECT: 5:43 sdy.all_reduce: the mesh of out_sharding is not that of the operand
sdy.mesh @m = <["x"=2, "y"=4]>
sdy.mesh @n = <["x"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {} %a out_sharding=<@n, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_of_cut
// EXPECT: 4:25 sdy.all_reduce: axis "y":(2)2 cuts dimension 1 of the operand
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {"y":(2)2} %a out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_of_replicated
// EXPECT: 4:25 sdy.all_reduce: axis "y" is a replicated one of the operand
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}], replicated={"y"}>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {"y"} %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_kept
// EXPECT: 4:25 sdy.all_reduce: axis "y" is reduced, but unreduced in out_sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}], unreduced={"y"}>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {"y"} %a out_sharding=<@m, [{"x"}, {}], unreduced={"y"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_order
// EXPECT: 4:30 sdy.all_reduce: reduction axes "y", "x", want them in the order of the mesh
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {"y", "x"} %a out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_twice
// EXPECT: 4:30 sdy.all_reduce: axis "y" is used twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {"y", "y"} %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_part
// EXPECT: 4:25 sdy.all_reduce: sub-axis (3)2 of axis "y", want one of at least 2 that divides 4
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {"y":(3)2} %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_adds
// EXPECT: 4:72 sdy.all_reduce: axis "y" is unreduced in the result, but not in the operand
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {} %a out_sharding=<@m, [{"x"}, {}], unreduced={"y"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- all_reduce_of_max
// EXPECT: 4:8 sdy.all_reduce: its reduction is sum, but the operand's unreduced axis "y" wants max
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}], unreduced=max{"y"}>}) -> tensor<8x8xf32> {
  %r = sdy.all_reduce {"y"} %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- reduce_scatter_dims
// EXPECT: 4:68 sdy.reduce_scatter: out_sharding has [] in dimension 1, want ["y"] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}], unreduced={"y"}>}) -> tensor<8x8xf32> {
  %r = sdy.reduce_scatter [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- reduce_scatter_rank
// EXPECT: 4:27 sdy.reduce_scatter: 1 list of axes for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.reduce_scatter [{"y"}] %a out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- reduce_scatter_of_max
// EXPECT: 4:8 sdy.reduce_scatter: its reduction is min, but the operand's unreduced axis "y" wants max
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}], unreduced=max{"y"}>}) -> tensor<8x8xf32> {
  %r = sdy.reduce_scatter min [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharded_to_unreduced_without
// EXPECT: 4:8 sdy.sharded_to_unreduced: its operand has no sharding, want one
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.sharded_to_unreduced [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {}], unreduced={"y"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharded_to_unreduced_lost
// EXPECT: 4:62 sdy.sharded_to_unreduced: out_sharding has unreduced axes [], want ["y"]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.sharded_to_unreduced [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharded_to_unreduced_max
// EXPECT: 4:62 sdy.sharded_to_unreduced: out_sharding is unreduced of a max, want of a sum
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.sharded_to_unreduced [{}, {"y"}] %a out_sharding=<@m, [{"x"}, {}], unreduced=max{"y"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharded_to_unreduced_order
// EXPECT: 4:96 sdy.sharded_to_unreduced: unreduced axes "y", "x", want them in the order of the mesh
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.sharded_to_unreduced [{"x"}, {"y"}] %a out_sharding=<@m, [{}, {}], unreduced={"y", "x"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- sharded_to_unreduced_not_there
// EXPECT: 4:36 sdy.sharded_to_unreduced: takes axis "y" from the end of dimension 0, which has ["x"]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %r = sdy.sharded_to_unreduced [{"y"}, {}] %a out_sharding=<@m, [{"x"}, {}], unreduced={"y"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- replicated_to_unreduced_nothing
// EXPECT: 4:36 sdy.replicated_to_unreduced: no axes, want at least one
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.replicated_to_unreduced {} %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- replicated_to_unreduced_cut
// EXPECT: 4:38 sdy.replicated_to_unreduced: axis "x" cuts dimension 0 of the operand
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.replicated_to_unreduced {"x"} %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- replicated_to_unreduced_again
// EXPECT: 4:38 sdy.replicated_to_unreduced: axis "y" is already an unreduced one of the operand
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}], unreduced={"y"}>}) -> tensor<8x8xf32> {
  %r = sdy.replicated_to_unreduced {"y"} %a out_sharding=<@m, [{"x"}, {}], unreduced={"y"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- replicated_to_unreduced_lost
// EXPECT: 4:59 sdy.replicated_to_unreduced: out_sharding has unreduced axes [], want ["y"]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.replicated_to_unreduced {"y"} %a out_sharding=<@m, [{"x"}, {}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- replicated_to_unreduced_dims
// EXPECT: 4:64 sdy.replicated_to_unreduced: out_sharding has [] in dimension 0, want ["x"] by the operand's sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %r = sdy.replicated_to_unreduced {"y"} %a out_sharding=<@m, [{}, {"x"}], unreduced={"y"}> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_meshes
// EXPECT: 5:84 sdy.manual_computation: its shardings are on two meshes, want one
sdy.mesh @m = <["x"=2, "y"=4]>
sdy.mesh @n = <["x"=2]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@n, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_no_mesh
// EXPECT: 4:50 sdy.manual_computation: operand: there is no mesh @n; the program has @m
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@n, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_no_axis
// EXPECT: 4:121 sdy.manual_computation: its mesh has no manual axis "w"
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x", "w"} (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_operand_count
// EXPECT: 4:49 sdy.manual_computation: 2 shardings for 1 operand
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>, <@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_result_count
// EXPECT: 4:83 sdy.manual_computation: 2 shardings for 1 result
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>, <@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_operand_rank
// EXPECT: 4:50 sdy.manual_computation: operand: a sharding of 1 dimension for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_divides
// EXPECT: 4:55 sdy.manual_computation: operand 0: dimension 0 has size 6, want one that the 4 parts of its manual axes divide
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"y"}, {}]>] out_shardings=[<@m, [{"y"}, {}]>] manual_axes={"y"} (%l: tensor<1x8xf32>) {
    sdy.return %l : tensor<1x8xf32>
  } : (tensor<6x8xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}
// ----- manual_operand_whole
// EXPECT: 4:8 sdy.manual_computation: operand 0: the body's value has sizes [4x8], want [8x8] by its sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_operand_free
// EXPECT: 4:8 sdy.manual_computation: operand 0: the body's value has sizes [2x8], want [8x8] by its sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"y"}, {}]>] out_shardings=[<@m, [{"y"}, {}]>] manual_axes={"x"} (%l: tensor<2x8xf32>) {
    sdy.return %l : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_result_cut
// EXPECT: 4:8 sdy.manual_computation: result 0: the body's value has sizes [4x8], want [8x4] by its sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{}, {"x"}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_body_arguments
// EXPECT: 4:8 sdy.manual_computation: 1 operand, but its body has 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>, %k: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_body_results
// EXPECT: 4:8 sdy.manual_computation: 1 result, but its body has 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    sdy.return %l, %l : tensor<4x8xf32>, tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_free_first
// EXPECT: 4:62 sdy.manual_computation: operand 0: manual axis "x" comes after axis "y" in dimension 0, want manual axes first
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"y", "x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_element
// EXPECT: 4:8 sdy.manual_computation: result 0: the body's value has another element type
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    %f = stablehlo.convert %l : (tensor<4x8xf32>) -> tensor<4x8xf64>
    sdy.return %f : tensor<4x8xf64>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_axis_inside
// EXPECT: 5:79 stablehlo.negate: result: axis "x" belongs to the manual computation around
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    %k = stablehlo.negate %l {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x8xf32>
    sdy.return %k : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_axis_replicated_inside
// EXPECT: 5:65 sdy.sharding_constraint: axis "x" belongs to the manual computation around
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    %k = sdy.sharding_constraint %l <@m, [{}, {}], replicated={"x"}> : tensor<4x8xf32>
    sdy.return %k : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_nested
// EXPECT: 5:118 sdy.manual_computation: manual axis "x" belongs to the manual computation around
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    %k = sdy.manual_computation(%l) in_shardings=[<@m, [{}, {"y"}]>] out_shardings=[<@m, [{}, {"y"}]>] manual_axes={"x", "y"} (%i: tensor<4x2xf32>) {
      sdy.return %i : tensor<4x2xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sdy.return %k : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- manual_collective_inside
// EXPECT: 5:28 sdy.all_gather: takes axis "x" from the end of dimension 0, which has []
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xf32>) {
    %k = sdy.all_gather [{"x"}, {}] %l out_sharding=<@m, [{}, {}]> : tensor<4x8xf32>
    sdy.return %k : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- named_operand_type
// EXPECT: 4:8 sdy.named_computation: operand 0 has another type than in the body
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.named_computation<"f">(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] (%l: tensor<4x8xf32>) {
    sdy.return %l : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- named_operand_count
// EXPECT: 4:8 sdy.named_computation: 1 operand, but its body has 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.named_computation<"f">(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] (%l: tensor<8x8xf32>, %k: tensor<8x8xf32>) {
    sdy.return %l : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- named_result_count
// EXPECT: 4:8 sdy.named_computation: 1 result, but its body has 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.named_computation<"f">(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] (%l: tensor<8x8xf32>) {
    sdy.return %l, %l : tensor<8x8xf32>, tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- named_result_type
// EXPECT: 4:8 sdy.named_computation: result 0 has another type than in the body
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.named_computation<"f">(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] (%l: tensor<8x8xf32>) {
    %k = stablehlo.convert %l : (tensor<8x8xf32>) -> tensor<8x8xf64>
    sdy.return %k : tensor<8x8xf64>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- named_in_count
// EXPECT: 4:53 sdy.named_computation: 2 shardings for 1 operand
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.named_computation<"f">(%a) in_shardings=[<@m, [{"x"}, {}]>, <@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] (%l: tensor<8x8xf32>) {
    sdy.return %l : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- named_out_count
// EXPECT: 4:87 sdy.named_computation: 2 shardings for 1 result
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.named_computation<"f">(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>, <@m, [{"x"}, {}]>] (%l: tensor<8x8xf32>) {
    sdy.return %l : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- named_in_rank
// EXPECT: 4:54 sdy.named_computation: operand: a sharding of 1 dimension for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.named_computation<"f">(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}, {}]>] (%l: tensor<8x8xf32>) {
    sdy.return %l : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- named_out_mesh
// EXPECT: 4:88 sdy.named_computation: result: there is no mesh @n; the program has @m
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.named_computation<"f">(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@n, [{"x"}, {}]>] (%l: tensor<8x8xf32>) {
    sdy.return %l : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- barrier_both
// EXPECT: 4:8 sdy.propagation_barrier: allowed_direction is BOTH, want NONE, FORWARD or BACKWARD
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.propagation_barrier %a allowed_direction=BOTH : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edge_rank
// EXPECT: 4:40 sdy.data_flow_edge: a sharding of 1 dimension for a value of rank 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = sdy.data_flow_edge %a sharding=<@m, [{}]> : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edge_dynamic
// EXPECT: 4:8 sdy.data_flow_edge: its value has no static shape, want one
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = sdy.data_flow_edge %a : tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
// ----- edge_uses
// EXPECT: 4:8 sdy.data_flow_edge: its operand has 2 uses, want this one alone
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %r = sdy.data_flow_edge %a : tensor<8xf32>
  return %a, %r : tensor<8xf32>, tensor<8xf32>
}
// ----- edge_of_constraint
// EXPECT: 5:8 sdy.data_flow_edge: its operand is a result of sdy.sharding_constraint, want one of control flow
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %c = sdy.sharding_constraint %a <@m, [{"x"}]> : tensor<8xf32>
  %r = sdy.data_flow_edge %c : tensor<8xf32>
  return %r : tensor<8xf32>
}
// ----- func_edge_of_op
// EXPECT: 4:8 sdy.func_data_flow_edge: its operand is of stablehlo.negate, want one of func.call
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %n = stablehlo.negate %a : tensor<8xf32>
  %r = sdy.func_data_flow_edge %n : tensor<8xf32>
  return %r : tensor<8xf32>
}
// ----- func_edge_uses
// EXPECT: 3:8 sdy.func_data_flow_edge: its operand has 2 uses, want this one alone
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %r = sdy.func_data_flow_edge %a : tensor<8xf32>
  return %a, %r : tensor<8xf32>, tensor<8xf32>
}
// ----- func_edge_in_region
// EXPECT: 5:10 sdy.func_data_flow_edge: its operand is of stablehlo.reduce, want one of func.func
func.func @main(%a: tensor<8x8xf32>, %z: tensor<f32>) -> tensor<8xf32> {
  %r = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %e = sdy.func_data_flow_edge %x : tensor<f32>
    %s = stablehlo.add %e, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
// ----- edges_step_twice
// EXPECT: 4:130 stablehlo.add: sdy.propagation_edges have step 1 twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"x" = operand-0 -> [result-0]}]}, {step-1 = [{"y" = operand-0 -> [result-0]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_step_negative
// EXPECT: 4:84 the list of propagation edges has "-1 = [{"x" = operand", want a number below 2^31
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.propagation_edges = #sdy.propagation_edges<[{step--1 = [{"x" = operand-0 -> [result-0]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_to_itself
// EXPECT: 4:110 stablehlo.add: a propagation edge has its source as a target
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"x" = operand-0 -> [operand-0]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_target_twice
// EXPECT: 4:120 stablehlo.add: a propagation edge has a target twice
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"x" = operand-0 -> [result-0, result-0]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_operand
// EXPECT: 4:109 stablehlo.add: sdy.propagation_edges name operand 2 of 2
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"x" = result-0 -> [operand-2]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_result
// EXPECT: 4:110 stablehlo.add: sdy.propagation_edges name result 1 of 1
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"x" = operand-0 -> [result-1]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_axis
// EXPECT: 4:91 stablehlo.add: sdy.propagation_edges have axis "w", which its mesh has not
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"w" = operand-0 -> [result-0]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_no_sharding
// EXPECT: 4:8 stablehlo.add: sdy.propagation_edges join no value that has a sharding
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"x" = operand-0 -> [operand-1]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_kind
// EXPECT: 4:8 stablehlo.add: sdy.propagation_edges is not #sdy.propagation_edges<...>
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.propagation_edges = 64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_list_kind
// EXPECT: 4:8 stablehlo.add: sdy.result_propagation_edges is not [#sdy.propagation_edges<...>, ...]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.result_propagation_edges = 64} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- edges_list_member
// EXPECT: 4:8 stablehlo.add: sdy.block_arg_propagation_edges is not [#sdy.propagation_edges<...>, ...]
sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = stablehlo.add %a, %a {sdy.block_arg_propagation_edges = [1, 2]} : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
// ----- rule_kind
// EXPECT: 3:8 stablehlo.custom_call: sdy.sharding_rule is not #sdy.op_sharding_rule<...>
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = 1} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_operand_count
// EXPECT: 3:80 stablehlo.custom_call: its sharding rule is for more than 1 operand
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_result_count
// EXPECT: 3:90 stablehlo.custom_call: its sharding rule is for more than 1 result
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j], [i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_no_operands
// EXPECT: 3:81 the sharding rule has ")->([i, j]) ", want "["
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<()->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_operand_rank
// EXPECT: 3:81 stablehlo.custom_call: its sharding rule has 1 dimension for operand 0, want 2
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_result_rank
// EXPECT: 3:91 stablehlo.custom_call: its sharding rule has 1 dimension for result 0, want 2
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_size_one
// EXPECT: 3:85 stablehlo.custom_call: its sharding rule has a factor of size 1 beside others, want it left out
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, j]) {i=2, j=4, k=1}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_empty_dim
// EXPECT: 3:84 the sharding rule has "])->([i, j]) ", want a factor, i to z
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i,])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_no_size
// EXPECT: 3:85 stablehlo.custom_call: its sharding rule gives no size for factor u
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, u])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_unused
// EXPECT: 3:80 stablehlo.custom_call: its sharding rule uses factor k of size 2 nowhere
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4, k=2}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_twice_in_dim
// EXPECT: 3:86 stablehlo.custom_call: its sharding rule has factor j twice for one value
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jj])->([i, j]) {i=2, j=2}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_twice
// EXPECT: 3:85 stablehlo.custom_call: its sharding rule has factor i twice for one value
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, i])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_special_order
// EXPECT: 3:131 stablehlo.custom_call: need_replication lists factor i after a later one, want ascending ones
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4} need_replication={j, i}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_special_twice
// EXPECT: 3:131 stablehlo.custom_call: need_replication lists factor i after itself, want ascending ones
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4} need_replication={i, i}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_special_unknown
// EXPECT: 3:123 stablehlo.custom_call: its sharding rule has no factor z
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4} permutation={z}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_special_in_two
// EXPECT: 3:142 stablehlo.custom_call: factor j is in permutation and in another list, want one
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=2, j=4, k=4} reduction={j} permutation={j}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_blocked_order
// EXPECT: 3:134 stablehlo.custom_call: blocked_propagation lists factor i after a later one, want ascending ones
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4} blocked_propagation={j, i}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_reduced_result
// EXPECT: 3:121 stablehlo.custom_call: factor j is reduced, but is in a result
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4} reduction={j}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_sizes_order
// EXPECT: 3:100 the sharding rule has "j=4, i=2}", want the size of factor i
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {j=4, i=2}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_sizes_gap
// EXPECT: 3:105 the sharding rule has "k=4}", want the size of factor j
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k])->([i, k]) {i=2, k=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_letter
// EXPECT: 3:82 the sharding rule has "a, j])->([i, j]) ", want a factor, i to z
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([a, j])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_number_zero
// EXPECT: 3:86 the sharding rule has "_0])->([i, j]) ", want a factor as z_1, with a number from 1 on
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, z_0])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_number_none
// EXPECT: 3:86 the sharding rule has "_])->([i, j]) ", want a factor as z_1, with a number from 1 on
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, z_])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_number_of_i
// EXPECT: 3:83 the sharding rule has "_1, j])->([i, j]) ", want a factor as z_1, with a number from 1 on
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i_1, j])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_list_order
// EXPECT: 3:131 the sharding rule has "reduction={j}", want its end
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=2, j=4, k=4} permutation={i} reduction={j}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_list_equals
// EXPECT: 3:124 the sharding rule has ": {j}", want "="
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=2, j=4, k=4} reduction: {j}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_word
// EXPECT: 3:111 the sharding rule has "fixed", want "custom"
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4}, fixed>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// ----- rule_dynamic
// EXPECT: 3:8 stablehlo.custom_call: its sharding rule is for result 0, which is no array of static shape
func.func @main(%a: tensor<2x4xf32>) -> tensor<?x4xf32> {
  %r = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}
