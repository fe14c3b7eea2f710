func.func @the_same_state_gives_the_same_bits() {
  %state = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %a:2 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
  %b:2 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
  check.expect_eq %a#0, %b#0 : tensor<2xui64>
  check.expect_eq %a#1, %b#1 : tensor<3xui32>
  func.return
}
