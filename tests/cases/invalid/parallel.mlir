// ----- parallel_operands
// EXPECT: 6:8 2 operands, want 1, as the programs take in all
func.func @one(%a: tensor<i64>) -> tensor<i64> {
  return %a : tensor<i64>
}
func.func @main(%a: tensor<i64>) -> tensor<i64> {
  %r = "interpreter.run_parallel"(%a, %a) {programs = [[@one]]} : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %r : tensor<i64>
}
// ----- parallel_results
// EXPECT: 6:3 0 results, want 1, as the programs return in all
func.func @one(%a: tensor<i64>) -> tensor<i64> {
  return %a : tensor<i64>
}
func.func @main(%a: tensor<i64>) {
  "interpreter.run_parallel"(%a) {programs = [[@one]]} : (tensor<i64>) -> ()
  return
}
// ----- parallel_infeed
// EXPECT: 6:3 infeed names no function
func.func @none() {
  return
}
func.func @main() {
  "interpreter.run_parallel"() {programs = [[@none]], infeed = []} : () -> ()
  return
}
// ----- parallel_infeed_results
// EXPECT: 10:8 fed of infeed returns (s64[], s64[]), want one tensor
func.func @one(%t: !stablehlo.token) -> !stablehlo.token {
  return %t : !stablehlo.token
}
func.func @fed() -> (tensor<i64>, tensor<i64>) {
  %c = stablehlo.constant dense<1> : tensor<i64>
  return %c, %c : tensor<i64>, tensor<i64>
}
func.func @main(%t: !stablehlo.token) {
  %r = "interpreter.run_parallel"(%t) {programs = [[@one]], infeed = [@fed]} : (!stablehlo.token) -> !stablehlo.token
  return
}
// ----- parallel_infeed_token
// EXPECT: 10:8 fed of infeed returns token[], want one tensor
func.func @one(%t: !stablehlo.token) -> !stablehlo.token {
  return %t : !stablehlo.token
}
func.func @fed() -> !stablehlo.token {
  %t = stablehlo.create_token : !stablehlo.token
  return %t : !stablehlo.token
}
func.func @main(%t: !stablehlo.token) {
  %r = "interpreter.run_parallel"(%t) {programs = [[@one]], infeed = [@fed]} : (!stablehlo.token) -> !stablehlo.token
  return
}
