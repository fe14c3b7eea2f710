module @over_partitions {
  func.func @gather(%x: tensor<1x2xi64>) -> tensor<2x2xi64> {
    %y = "stablehlo.all_gather"(%x) {
      all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids
    } : (tensor<1x2xi64>) -> tensor<2x2xi64>
    return %y : tensor<2x2xi64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi64>
    %b = stablehlo.constant dense<[[3, 4]]> : tensor<1x2xi64>
    %y:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@gather, @gather]]} : (tensor<1x2xi64>, tensor<1x2xi64>) -> (tensor<2x2xi64>, tensor<2x2xi64>)
    check.expect_eq_const %y#0, dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    check.expect_eq %y#1, %y#0 : tensor<2x2xi64>
    return
  }
}
