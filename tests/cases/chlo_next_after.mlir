func.func @next_after() {
  %x = stablehlo.constant dense<[1.0, 1.0, 0.0, -0.0, -1.0, 2.0, 0x7F800000]> : tensor<7xf32>
  %y = stablehlo.constant dense<[2.0, 0.0, -5.0, 0.0, 3.0, 2.0, 0.0]> : tensor<7xf32>
  %next = chlo.next_after %x, %y : tensor<7xf32>, tensor<7xf32> -> tensor<7xf32>
  %bits = stablehlo.bitcast_convert %next : (tensor<7xf32>) -> tensor<7xui32>
  check.expect_eq_const %bits, dense<[0x3F800001, 0x3F7FFFFF, 0x80000001, 0x00000000, 0xBF7FFFFF, 0x40000000, 0x7F7FFFFF]> : tensor<7xui32>
  func.return
}
