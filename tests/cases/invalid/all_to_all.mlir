// ----- all_to_all_c1
// EXPECT: 3:8 (all_to_all C1)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 2 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
// ----- all_to_all_c1_negative
// EXPECT: 3:8 (all_to_all C1)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = -1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
// ----- all_to_all_c2
// EXPECT: 3:8 (all_to_all C2)
func.func @main(%a: tensor<3x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}
// ----- all_to_all_c3
// EXPECT: 3:8 (all_to_all C3)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 2 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
// ----- all_to_all_c3_negative
// EXPECT: 3:8 (all_to_all C3)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = -1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
// ----- all_to_all_c4
// EXPECT: 3:8 (all_to_all C4)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
// ----- all_to_all_c4_negative
// EXPECT: 3:8 (all_to_all C4)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = -2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
// ----- all_to_all_c5
// EXPECT: 3:8 (all_to_all C5)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
// ----- all_to_all_c8
// EXPECT: 3:8 (all_to_all C8)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
// ----- all_to_all_c9
// EXPECT: 3:8 (all_to_all C9)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
// ----- all_to_all_without_groups
// EXPECT: 3:8 (all_to_all C8)
func.func @main(%a: tensor<4x16xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<0> : tensor<0x2xi64>}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}
