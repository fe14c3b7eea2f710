// Paddings as operands: constant, and computed; negative ones cut.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %value = stablehlo.constant dense<9> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %a = stablehlo.dynamic_pad %x, %value, %one, %one, %one : (tensor<3xi32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<7xi32>
  check.expect_eq_const %a, dense<[9, 1, 9, 2, 9, 3, 9]> : tensor<7xi32>
  %less = stablehlo.negate %one : tensor<1xi32>
  %b = stablehlo.dynamic_pad %x, %value, %less, %one, %one : (tensor<3xi32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
  %c = tensor.cast %b : tensor<?xi32> to tensor<5xi32>
  check.expect_eq_const %c, dense<[9, 2, 9, 3, 9]> : tensor<5xi32>
  func.return
}
