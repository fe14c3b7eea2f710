// A bounded size: what is beyond it takes no part in sums, products and loops.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %y = stablehlo.set_dimension_size %x, %two, dim = 0 : (tensor<3x2xf32>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<3, ?>>
  %size = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?x2xf32, #stablehlo.bounds<3, ?>>) -> tensor<i32>
  check.expect_eq_const %size, dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x2xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %sum, dense<10.0> : tensor<f32>
  %t = stablehlo.transpose %y, dims = [1, 0] : (tensor<?x2xf32, #stablehlo.bounds<3, ?>>) -> tensor<2x?xf32, #stablehlo.bounds<?, 3>>
  %p = stablehlo.dot_general %t, %y, contracting_dims = [1] x [0] : (tensor<2x?xf32, #stablehlo.bounds<?, 3>>, tensor<?x2xf32, #stablehlo.bounds<3, ?>>) -> tensor<2x2xf32>
  check.expect_eq_const %p, dense<[[10.0, 14.0], [14.0, 20.0]]> : tensor<2x2xf32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %loop:2 = stablehlo.while(%k = %i, %v = %y) : tensor<i32>, tensor<?x2xf32, #stablehlo.bounds<3, ?>>
    cond {
      %more = stablehlo.compare LT, %k, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %k, %one : tensor<i32>
      %twice = stablehlo.add %v, %v : tensor<?x2xf32, #stablehlo.bounds<3, ?>>
      stablehlo.return %next, %twice : tensor<i32>, tensor<?x2xf32, #stablehlo.bounds<3, ?>>
    }
  %whole = tensor.cast %loop#1 : tensor<?x2xf32, #stablehlo.bounds<3, ?>> to tensor<2x2xf32>
  check.expect_eq_const %whole, dense<[[4.0, 8.0], [12.0, 16.0]]> : tensor<2x2xf32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %fixed = stablehlo.set_dimension_size %x, %three, dim = 0 : (tensor<3x2xf32>, tensor<i32>) -> tensor<3x2xf32>
  check.expect_eq %fixed, %x : tensor<3x2xf32>
  func.return
}
