func.func @reduce_precision() {
  %x = stablehlo.constant dense<[1.0009765625, 1.000244140625, 100000.0]> : tensor<3xf32>
  %y = stablehlo.reduce_precision %x, format = e5m10 : tensor<3xf32>
  check.expect_eq_const %y, dense<[1.0009765625, 1.0, 0x7F800000]> : tensor<3xf32>
  func.return
}
