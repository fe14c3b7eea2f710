// EXPECT: 4:8 (rng C3)
func.func @main(%a0: tensor<f32>) {
  %s = stablehlo.constant dense<7> : tensor<1xi64>
  %r = "stablehlo.rng"(%a0, %a0, %s) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<12xf32>
  return
}
