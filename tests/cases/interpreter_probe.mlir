func.func @each_turn_of_a_loop() {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %r = stablehlo.while(%i = %zero) : tensor<i64>
  cond {
    %go = stablehlo.compare LT, %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i64>
    %seen = interpreter.probe %next, probe_id = "next/i" : tensor<i64>
    stablehlo.return %seen : tensor<i64>
  }
  check.expect_serialized_eq %one, probe_id = "next/i", iter = 0 : tensor<i64>
  check.expect_serialized_eq %two, probe_id = "next/i", iter = 1 : tensor<i64>
  func.return
}
