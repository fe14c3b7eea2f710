func.func @constant() {
  %x = chlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = "chlo.constant_like"(%x) {value = 7.5 : f32} : (tensor<2xi32>) -> tensor<2xf32>
  check.expect_eq_const %x, dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %y, dense<7.5> : tensor<2xf32>
  func.return
}
