// ----- rng_c3
// EXPECT: 4:8 (rng C3)
func.func @main(%a0: tensor<f32>) {
  %s = stablehlo.constant dense<7> : tensor<1xi64>
  %r = "stablehlo.rng"(%a0, %a0, %s) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<12xf32>
  return
}
// ----- rng_c3_rank
// EXPECT: 3:8 (rng C3)
func.func @main(%a0: tensor<f32>, %a1: tensor<2xi64>) {
  %r = "stablehlo.rng"(%a0, %a0, %a1) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3x5xf32>
  return
}
// ----- rng_i3
// EXPECT: 3:8 (rng I3)
func.func @main(%a0: tensor<f32>, %a1: tensor<1x3xi64>) {
  %r = "stablehlo.rng"(%a0, %a0, %a1) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<1x3xi64>) -> tensor<2x3x5xf32>
  return
}
