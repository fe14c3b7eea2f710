func.func @mulhi_i32() {
  %a = stablehlo.constant dense<[2147483647, -2147483648, -1]> : tensor<3xi32>
  %b = stablehlo.constant dense<[4, -2147483648, 1]> : tensor<3xi32>
  %y = chlo.mulhi %a, %b : tensor<3xi32>, tensor<3xi32> -> tensor<3xi32>
  check.expect_eq_const %y, dense<[1, 1073741824, -1]> : tensor<3xi32>
  func.return
}

// -----

func.func @widest() {
  %a = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %y = chlo.mulhi %a, %a : tensor<ui64>, tensor<ui64> -> tensor<ui64>
  check.expect_eq_const %y, dense<18446744073709551614> : tensor<ui64>
  func.return
}
