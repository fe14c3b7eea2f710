func.func @main() {
  %x = stablehlo.constant dense<[0.0, 3.0, -1.0, 0.5, 0x7F800000, 0xFF800000]> : tensor<6xf32>
  %y = stablehlo.exp2 %x : tensor<6xf32>
  check.expect_almost_eq_const %y, dense<[1.0, 8.0, 0.5, 1.41421354, 0x7F800000, 0.0]> : tensor<6xf32>
  %wide = stablehlo.constant dense<[1.0, -1074.0, 0.25]> : tensor<3xf64>
  %powers = stablehlo.constant dense<[2.0, 4.940656458412465e-324, 1.189207115002721]> : tensor<3xf64>
  %z = stablehlo.exp2 %wide {result_accuracy = #stablehlo.result_accuracy<atol = 0.000000e+00, rtol = 0.000000e+00, ulps = 0, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<3xf64>
  check.expect_close %z, %powers, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  %narrow = stablehlo.constant dense<[-8.0, 7.0]> : tensor<2xbf16>
  %n = "stablehlo.exp2"(%narrow) : (tensor<2xbf16>) -> tensor<2xbf16>
  check.expect_eq_const %n, dense<[0.00390625, 128.0]> : tensor<2xbf16>
  %i = stablehlo.constant dense<(0.0, 1.0)> : tensor<complex<f64>>
  %turn = stablehlo.exp2 %i : tensor<complex<f64>>
  check.expect_almost_eq_const %turn, dense<(0.7692389013639721, 0.6389612763136348)> : tensor<complex<f64>>
  return
}
