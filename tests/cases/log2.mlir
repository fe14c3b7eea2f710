func.func @main() {
  %x = stablehlo.constant dense<[1.0, 8.0, 0.125, 3.0, 0.0, 0x7F800000]> : tensor<6xf32>
  %y = stablehlo.log2 %x : tensor<6xf32>
  check.expect_eq_const %y, dense<[0.0, 3.0, -3.0, 1.58496249, 0xFF800000, 0x7F800000]> : tensor<6xf32>
  %negative = stablehlo.constant dense<-1.0> : tensor<f64>
  %nan = stablehlo.log2 %negative : tensor<f64>
  check.expect_almost_eq_const %nan, dense<0x7FF8000000000000> : tensor<f64>
  %tenth = stablehlo.constant dense<[10.0, 1073741824.0]> : tensor<2xf64>
  %z = stablehlo.log2 %tenth : tensor<2xf64>
  %want = stablehlo.constant dense<[3.3219280948873622, 30.0]> : tensor<2xf64>
  check.expect_close %z, %want, max_ulp_difference = 2 : tensor<2xf64>, tensor<2xf64>
  %c = stablehlo.constant dense<(-4.0, 0.0)> : tensor<complex<f64>>
  %log = "stablehlo.log2"(%c) : (tensor<complex<f64>>) -> tensor<complex<f64>>
  check.expect_almost_eq_const %log, dense<(2.0, 4.532360141827194)> : tensor<complex<f64>>
  return
}
