// EXPECT: 3:8 (rng C3)
func.func @main(%a0: tensor<f32>, %a1: tensor<2xi64>) {
  %r = "stablehlo.rng"(%a0, %a0, %a1) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3x5xf32>
  return
}
