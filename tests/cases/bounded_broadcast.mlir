// A dimension of one element is repeated beside one that has a bound and fewer elements.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0]]> : tensor<1x5xf32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %d = "stablehlo.set_dimension_size"(%x, %three) <{dimension = 1 : i64}> : (tensor<1x5xf32>, tensor<i32>) -> tensor<1x?xf32, #stablehlo.bounds<?, 5>>
  %r = stablehlo.broadcast_in_dim %d, dims = [0, 1] : (tensor<1x?xf32, #stablehlo.bounds<?, 5>>) -> tensor<2x?xf32, #stablehlo.bounds<?, 5>>
  %given = tensor.cast %r : tensor<2x?xf32, #stablehlo.bounds<?, 5>> to tensor<2x3xf32>
  check.expect_eq_const %given, dense<[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]> : tensor<2x3xf32>
  func.return
}
