// Splats of more than 64 KiB are broadcasts of one element; those of booleans and of 4-bit integers, too.
module @large_splats {
  func.func @main() {
    %half = stablehlo.constant dense<5.000000e-01> : tensor<300x100xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %sum = stablehlo.reduce(%half init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<300x100xf32>, tensor<f32>) -> tensor<f32>
    check.expect_eq_const %sum, dense<1.500000e+04> : tensor<f32>
    %yes = stablehlo.constant dense<true> : tensor<400x200xi1>
    %ones = stablehlo.convert %yes : (tensor<400x200xi1>) -> tensor<400x200xi32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %count = stablehlo.reduce(%ones init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<400x200xi32>, tensor<i32>) -> tensor<i32>
    check.expect_eq_const %count, dense<80000> : tensor<i32>
    %small = stablehlo.constant dense<-3> : tensor<400x500xi4>
    %wide = stablehlo.convert %small : (tensor<400x500xi4>) -> tensor<400x500xi32>
    %total = stablehlo.reduce(%wide init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<400x500xi32>, tensor<i32>) -> tensor<i32>
    check.expect_eq_const %total, dense<-600000> : tensor<i32>
    return
  }
}
