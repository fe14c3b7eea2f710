// A future from another function is what it gives; a custom call, a result and a call await it.
func.func private @wait(%f: !stablehlo.future<tensor<2xf32>>) -> tensor<2xf32> {
  %y = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
func.func private @start(%x: tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>> {
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%arg0: tensor<2xf32>):
    %0 = "stablehlo.all_gather"(%arg0) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    stablehlo.return %0 : tensor<2xf32>
  }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
  func.return %f : !stablehlo.future<tensor<2xf32>>
}
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%arg0: tensor<2xf32>):
    %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    stablehlo.return %0 : tensor<2xf32>
  }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
  %y = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[1.0, 2.0]> : tensor<2xf32>
  %w = func.call @wait(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  check.expect_eq_const %w, dense<[1.0, 2.0]> : tensor<2xf32>
  %g = func.call @start(%x) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
  %v = "stablehlo.async_done"(%g) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  check.expect_eq_const %v, dense<[1.0, 2.0]> : tensor<2xf32>
  %h = func.call @start(%v) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
  %u = func.call @wait(%h) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  check.expect_eq_const %u, dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}
