// EXPECT: 3:3 more operations follow the one that returns
func.func @main() {
  return {}
  %0 = stablehlo.constant dense<1> : tensor<i32>
  return
}
