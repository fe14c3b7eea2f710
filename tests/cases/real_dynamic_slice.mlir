// Starts, limits and strides as operands: constant, and computed.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %five = stablehlo.constant dense<5> : tensor<1xi64>
  %two = stablehlo.constant dense<2> : tensor<1xi64>
  %a = stablehlo.real_dynamic_slice %x, %one, %five, %two : (tensor<5xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi32>
  check.expect_eq_const %a, dense<[2, 4]> : tensor<2xi32>
  %four = stablehlo.subtract %five, %one : tensor<1xi64>
  %b = stablehlo.real_dynamic_slice %x, %one, %four, %one : (tensor<5xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  %c = tensor.cast %b : tensor<?xi32> to tensor<3xi32>
  check.expect_eq_const %c, dense<[2, 3, 4]> : tensor<3xi32>
  func.return
}
