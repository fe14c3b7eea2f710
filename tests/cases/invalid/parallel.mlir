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
