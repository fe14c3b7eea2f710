// EXPECT: 3:8 result 0 is declared as f32[3], want f32[2] (constant C1)
func.func @main() {
  %r = "stablehlo.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  return
}
