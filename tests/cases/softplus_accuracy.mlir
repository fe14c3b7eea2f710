// log(1 + e^-|x|) is a polynomial of e^-|x| in f32: its error relative to f64, and its special values.
func.func @main() {
  %numbers = stablehlo.iota dim = 0 : tensor<8192xf32>
  %start = stablehlo.optimization_barrier %numbers : tensor<8192xf32>
  %half = stablehlo.constant dense<4096.0> : tensor<8192xf32>
  %step = stablehlo.constant dense<0.0125> : tensor<8192xf32>
  %centred = stablehlo.subtract %start, %half : tensor<8192xf32>
  %x = stablehlo.multiply %centred, %step : tensor<8192xf32>
  %abs = stablehlo.abs %x : tensor<8192xf32>
  %minus = stablehlo.negate %abs : tensor<8192xf32>
  %e = stablehlo.exponential %minus : tensor<8192xf32>
  %log = stablehlo.log_plus_one %e : tensor<8192xf32>
  %log_wide = stablehlo.convert %log : (tensor<8192xf32>) -> tensor<8192xf64>
  %e_wide = stablehlo.convert %e : (tensor<8192xf32>) -> tensor<8192xf64>
  %exact = stablehlo.log_plus_one %e_wide : tensor<8192xf64>
  %difference = stablehlo.subtract %log_wide, %exact : tensor<8192xf64>
  %relative = stablehlo.divide %difference, %exact : tensor<8192xf64>
  %error = stablehlo.abs %relative : tensor<8192xf64>
  %two_ulp = stablehlo.constant dense<1.5e-7> : tensor<8192xf64>
  %fits = stablehlo.compare LE, %error, %two_ulp : (tensor<8192xf64>, tensor<8192xf64>) -> tensor<8192xi1>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %all = stablehlo.reduce(%fits init: %true) applies stablehlo.and across dimensions = [0] : (tensor<8192xi1>, tensor<i1>) -> tensor<i1>
  check.expect_eq_const %all, dense<true> : tensor<i1>
  %special = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0.0, -0.0, 1.0e38]> : tensor<6xf32>
  %barred = stablehlo.optimization_barrier %special : tensor<6xf32>
  %special_abs = stablehlo.abs %barred : tensor<6xf32>
  %special_minus = stablehlo.negate %special_abs : tensor<6xf32>
  %special_e = stablehlo.exponential %special_minus : tensor<6xf32>
  %special_log = stablehlo.log_plus_one %special_e : tensor<6xf32>
  check.expect_almost_eq_const %special_log, dense<[0.0, 0.0, 0x7FC00000, 0.693147182, 0.693147182, 0.0]> : tensor<6xf32>
  func.return
}
