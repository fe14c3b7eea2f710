// Modules that must be refused say so, as in the StableHLO project's own tests; others are verified.

func.func @good(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @reshape(%x: tensor<2x4xf32>) -> tensor<3x3xf32> {
  // expected-error@+1 {{8 elements do not make 9}}
  %0 = "stablehlo.reshape"(%x) : (tensor<2x4xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// -----

// Functions that nothing calls count too.
func.func @main() {
  return
}
func.func @unused(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{operands of different shapes}}
  %0 = "stablehlo.add"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}
