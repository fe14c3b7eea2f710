func.func @same_width() {
  %x = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %y = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[1065353216, -1073741824]> : tensor<2xi32>
  func.return
}

// -----

func.func @narrower() {
  %x = stablehlo.constant dense<[67305985]> : tensor<1xi32>
  %y = stablehlo.bitcast_convert %x : (tensor<1xi32>) -> tensor<1x4xi8>
  %z = stablehlo.bitcast_convert %y : (tensor<1x4xi8>) -> tensor<1xi32>
  check.expect_eq_const %y, dense<[[1, 2, 3, 4]]> : tensor<1x4xi8>
  check.expect_eq %z, %x : tensor<1xi32>
  func.return
}
