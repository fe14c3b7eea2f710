// EXPECT: 3:8 declared as f64[], want s64[] (constant C1)
func.func @main() {
  %r = "stablehlo.constant"() {value = dense<3> : tensor<i64>} : () -> tensor<f64>
  return
}
