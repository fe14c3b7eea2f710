// Values of dynamic sizes through calls, branches, and the custom calls by which JAX writes ops of dynamic sizes.
func.func private @double(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = stablehlo.add %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %c = stablehlo.add %a, %b : tensor<f32>
  return %c : tensor<f32>
}
func.func @main() {
  %n = stablehlo.constant dense<4> : tensor<1xi32>
  %x = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %y = func.call @double(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %z = "stablehlo.if"(%yes) ({
    stablehlo.return %y : tensor<?xf32>
  }, {
    stablehlo.return %x : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  %known = tensor.cast %z : tensor<?xf32> to tensor<4xf32>
  check.expect_eq_const %known, dense<[0.0, 2.0, 4.0, 6.0]> : tensor<4xf32>

  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %two = stablehlo.constant dense<2> : tensor<1xi64>
  %pad = stablehlo.constant dense<0> : tensor<1x2xi64>
  %w = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%z, %zero, %two, %one, %one, %one, %pad) {called_computations = [@add]} : (tensor<?xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1x2xi64>) -> tensor<?xf32>
  %windows = tensor.cast %w : tensor<?xf32> to tensor<3xf32>
  check.expect_eq_const %windows, dense<[2.0, 6.0, 10.0]> : tensor<3xf32>

  %k = stablehlo.constant dense<2> : tensor<i32>
  %top:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%z, %k) : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
  %best = tensor.cast %top#1 : tensor<?xi32> to tensor<2xi32>
  check.expect_eq_const %best, dense<[3, 2]> : tensor<2xi32>

  %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %right = stablehlo.compare EQ, %rows, %rows : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%right, %rows) {api_version = 2 : i32, error_message = "size {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  func.return
}
