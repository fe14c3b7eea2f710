// EXPECT: 3:8 (iota C1)
func.func @main() {
  %r = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<2x3xf32>
  return
}
