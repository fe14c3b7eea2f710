// ----- constant_c1
// EXPECT: 3:8 result 0 is declared as f32[3], want f32[2] (constant C1)
func.func @main() {
  %r = "stablehlo.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  return
}
// ----- constant_c1_sign
// EXPECT: 3:8 (constant C1)
func.func @main() {
  %r = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xui8>} : () -> tensor<2x!quant.uniform<i8:f32, 2.0:15>>
  return
}
// ----- constant_type
// EXPECT: 3:8 declared as f64[], want s64[] (constant C1)
func.func @main() {
  %r = "stablehlo.constant"() {value = dense<3> : tensor<i64>} : () -> tensor<f64>
  return
}
// ----- iota_c1
// EXPECT: 3:8 (iota C1)
func.func @main() {
  %r = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<2x3xf32>
  return
}
