// EXPECT: 3:8 (constant C1)
func.func @main() {
  %r = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xui8>} : () -> tensor<2x!quant.uniform<i8:f32, 2.0:15>>
  return
}
