func.func @divide_i64() {
  %a = stablehlo.constant dense<[17, -17, 17]> : tensor<3xi64>
  %b = stablehlo.constant dense<[3, 3, -3]> : tensor<3xi64>
  %y = stablehlo.divide %a, %b : tensor<3xi64>
  check.expect_eq_const %y, dense<[5, -5, -5]> : tensor<3xi64>
  func.return
}

// -----

func.func @divide_ui8() {
  %a = stablehlo.constant dense<[17, 200]> : tensor<2xui8>
  %b = stablehlo.constant dense<[3, 7]> : tensor<2xui8>
  %y = stablehlo.divide %a, %b : tensor<2xui8>
  check.expect_eq_const %y, dense<[5, 28]> : tensor<2xui8>
  func.return
}

// -----

func.func @divide_f32() {
  %a = stablehlo.constant dense<[1.0, -7.5]> : tensor<2xf32>
  %b = stablehlo.constant dense<[4.0, 2.5]> : tensor<2xf32>
  %y = stablehlo.divide %a, %b : tensor<2xf32>
  check.expect_eq_const %y, dense<[0.25, -3.0]> : tensor<2xf32>
  func.return
}

// -----

// Where the specification leaves the result to the implementation, programs of its test dialect get its interpreter's.
func.func @undefined() {
  %x = stablehlo.constant dense<[5, -5, -128, 127]> : tensor<4xi8>
  %y = stablehlo.constant dense<[0, 0, -1, -1]> : tensor<4xi8>
  %q = stablehlo.divide %x, %y : tensor<4xi8>
  check.expect_eq_const %q, dense<[0, 0, 0, -127]> : tensor<4xi8>
  %r = stablehlo.remainder %x, %y : tensor<4xi8>
  check.expect_eq_const %r, dense<0> : tensor<4xi8>
  %u = stablehlo.constant dense<[5, 7]> : tensor<2xui64>
  %v = stablehlo.constant dense<[0, 2]> : tensor<2xui64>
  %w = stablehlo.divide %u, %v : tensor<2xui64>
  check.expect_eq_const %w, dense<[0, 3]> : tensor<2xui64>
  func.return
}
