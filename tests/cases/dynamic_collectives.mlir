// Collectives of arrays whose sizes are known only while they run.
module @dynamic_collectives {
  func.func @exchange(%x: tensor<2x4xi64>, %sizes: tensor<2xi32>) -> (tensor<4x2xi64>, tensor<2x4xi64>, tensor<1x8xi64>) {
    %open = stablehlo.dynamic_reshape %x, %sizes : (tensor<2x4xi64>, tensor<2xi32>) -> tensor<?x?xi64>
    %rows = stablehlo.dynamic_reshape %x, %sizes : (tensor<2x4xi64>, tensor<2xi32>) -> tensor<?x4xi64>
    %columns = stablehlo.dynamic_reshape %x, %sizes : (tensor<2x4xi64>, tensor<2xi32>) -> tensor<2x?xi64>
    %a = "stablehlo.all_to_all"(%open) {
      split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    } : (tensor<?x?xi64>) -> tensor<?x?xi64>
    %b = "stablehlo.all_to_all"(%rows) {
      split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    } : (tensor<?x4xi64>) -> tensor<?x4xi64>
    %c = "stablehlo.all_to_all"(%columns) {
      split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    } : (tensor<2x?xi64>) -> tensor<1x?xi64>
    %a_sizes = stablehlo.constant dense<[4, 2]> : tensor<2xi32>
    %c_sizes = stablehlo.constant dense<[1, 8]> : tensor<2xi32>
    %a_fixed = stablehlo.dynamic_reshape %a, %a_sizes : (tensor<?x?xi64>, tensor<2xi32>) -> tensor<4x2xi64>
    %b_fixed = stablehlo.dynamic_reshape %b, %sizes : (tensor<?x4xi64>, tensor<2xi32>) -> tensor<2x4xi64>
    %c_fixed = stablehlo.dynamic_reshape %c, %c_sizes : (tensor<1x?xi64>, tensor<2xi32>) -> tensor<1x8xi64>
    return %a_fixed, %b_fixed, %c_fixed : tensor<4x2xi64>, tensor<2x4xi64>, tensor<1x8xi64>
  }
  func.func @others(%x: tensor<2x2xi64>, %sizes: tensor<2xi32>) -> (tensor<2x4xi64>, tensor<2x1xi64>, tensor<2x2xi64>) {
    %rows = stablehlo.dynamic_reshape %x, %sizes : (tensor<2x2xi64>, tensor<2xi32>) -> tensor<?x2xi64>
    %a = "stablehlo.all_gather"(%rows) {
      all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    } : (tensor<?x2xi64>) -> tensor<?x4xi64>
    %b = "stablehlo.reduce_scatter"(%rows) ({
    ^bb0(%p: tensor<i64>, %q: tensor<i64>):
      %s = stablehlo.add %p, %q : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) {
      scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    } : (tensor<?x2xi64>) -> tensor<?x1xi64>
    %c = "stablehlo.collective_broadcast"(%rows) {
      replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>
    } : (tensor<?x2xi64>) -> tensor<?x2xi64>
    %a_sizes = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
    %b_sizes = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
    %a_fixed = stablehlo.dynamic_reshape %a, %a_sizes : (tensor<?x4xi64>, tensor<2xi32>) -> tensor<2x4xi64>
    %b_fixed = stablehlo.dynamic_reshape %b, %b_sizes : (tensor<?x1xi64>, tensor<2xi32>) -> tensor<2x1xi64>
    %c_fixed = stablehlo.dynamic_reshape %c, %sizes : (tensor<?x2xi64>, tensor<2xi32>) -> tensor<2x2xi64>
    return %a_fixed, %b_fixed, %c_fixed : tensor<2x4xi64>, tensor<2x1xi64>, tensor<2x2xi64>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi64>
    %y = stablehlo.constant dense<[[11, 12, 13, 14], [15, 16, 17, 18]]> : tensor<2x4xi64>
    %xy = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
    %p:6 = "interpreter.run_parallel"(%x, %xy, %y, %xy) {programs = [[@exchange], [@exchange]]} : (tensor<2x4xi64>, tensor<2xi32>, tensor<2x4xi64>, tensor<2xi32>) -> (tensor<4x2xi64>, tensor<2x4xi64>, tensor<1x8xi64>, tensor<4x2xi64>, tensor<2x4xi64>, tensor<1x8xi64>)
    check.expect_eq_const %p#0, dense<[[1, 2], [5, 6], [11, 12], [15, 16]]> : tensor<4x2xi64>
    check.expect_eq_const %p#1, dense<[[1, 2, 11, 12], [5, 6, 15, 16]]> : tensor<2x4xi64>
    check.expect_eq_const %p#2, dense<[[1, 2, 3, 4, 11, 12, 13, 14]]> : tensor<1x8xi64>
    check.expect_eq_const %p#3, dense<[[3, 4], [7, 8], [13, 14], [17, 18]]> : tensor<4x2xi64>
    check.expect_eq_const %p#4, dense<[[3, 4, 13, 14], [7, 8, 17, 18]]> : tensor<2x4xi64>
    check.expect_eq_const %p#5, dense<[[5, 6, 7, 8, 15, 16, 17, 18]]> : tensor<1x8xi64>
    %u = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    %v = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
    %uv = stablehlo.constant dense<[2, 2]> : tensor<2xi32>
    %q:6 = "interpreter.run_parallel"(%u, %uv, %v, %uv) {programs = [[@others], [@others]]} : (tensor<2x2xi64>, tensor<2xi32>, tensor<2x2xi64>, tensor<2xi32>) -> (tensor<2x4xi64>, tensor<2x1xi64>, tensor<2x2xi64>, tensor<2x4xi64>, tensor<2x1xi64>, tensor<2x2xi64>)
    check.expect_eq_const %q#0, dense<[[1, 2, 5, 6], [3, 4, 7, 8]]> : tensor<2x4xi64>
    check.expect_eq_const %q#1, dense<[[6], [10]]> : tensor<2x1xi64>
    check.expect_eq_const %q#4, dense<[[8], [12]]> : tensor<2x1xi64>
    check.expect_eq_const %q#2, dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
    return
  }
}
