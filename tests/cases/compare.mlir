func.func @floats() {
  %a = stablehlo.constant dense<[1.0, 2.0, 0x7FC00000]> : tensor<3xf32>
  %b = stablehlo.constant dense<[1.0, 3.0, 0x7FC00000]> : tensor<3xf32>
  %eq = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %ne = stablehlo.compare NE, %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %total = stablehlo.compare EQ, %a, %b, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[true, false, false]> : tensor<3xi1>
  check.expect_eq_const %ne, dense<[false, true, true]> : tensor<3xi1>
  check.expect_eq_const %total, dense<[true, false, true]> : tensor<3xi1>
  func.return
}

// -----

func.func @integers() {
  %a = stablehlo.constant dense<[-1, 0, 1]> : tensor<3xi32>
  %b = stablehlo.constant dense<0> : tensor<3xi32>
  %lt = stablehlo.compare LT, %a, %b, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %ge = stablehlo.compare GE, %a, %b : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %lt, dense<[true, false, false]> : tensor<3xi1>
  check.expect_eq_const %ge, dense<[false, true, true]> : tensor<3xi1>
  func.return
}

// -----

// The weak order: NaNs of all kinds are equal, and above all numbers; -0 is +0.
func.func @weak_order() {
  %a = stablehlo.constant dense<[0xFFC00001, 0xFF800000, -0.0, 1.0, 0x7F800000, 0x7F800000, 0xFFC00000]> : tensor<7xf32>
  %b = stablehlo.constant dense<[0x7FC00000, 0x7F800000, 0.0, 2.0, 0x7F800000, 0xFFC00000, 0x7F800000]> : tensor<7xf32>
  %eq = stablehlo.compare EQ, %a, %b, WEAKORDER : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
  %lt = stablehlo.compare LT, %a, %b, WEAKORDER : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
  %ge = stablehlo.compare GE, %a, %b, WEAKORDER : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
  check.expect_eq_const %eq, dense<[true, false, true, false, true, false, false]> : tensor<7xi1>
  check.expect_eq_const %lt, dense<[false, true, false, true, false, true, false]> : tensor<7xi1>
  check.expect_eq_const %ge, dense<[true, false, true, false, true, false, true]> : tensor<7xi1>
  %c = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xbf16>
  %d = stablehlo.convert %b : (tensor<7xf32>) -> tensor<7xbf16>
  %ne = stablehlo.compare NE, %c, %d, WEAKORDER : (tensor<7xbf16>, tensor<7xbf16>) -> tensor<7xi1>
  check.expect_eq_const %ne, dense<[false, true, false, true, false, true, true]> : tensor<7xi1>
  func.return
}

// -----

func.func @sorting_by_the_weak_order() {
  %x = stablehlo.constant dense<[0xFFC00001, 1.0, 0.0, -0.0, 0xFF800000]> : tensor<5xf32>
  %i = stablehlo.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
  %r:2 = "stablehlo.sort"(%x, %i) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %less = stablehlo.compare LT, %a, %b, WEAKORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)
  check.expect_eq_const %r#1, dense<[4, 2, 3, 1, 0]> : tensor<5xi32>
  func.return
}
