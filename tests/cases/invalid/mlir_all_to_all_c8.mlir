// EXPECT: 3:8 (all_to_all C8)
func.func @main(%a: tensor<4x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
