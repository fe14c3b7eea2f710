// CHLO's broadcasting where sizes show only at run time.
func.func @main() {
  %n = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %m = stablehlo.constant dense<[3]> : tensor<1xi32>
  %x = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi32>) -> tensor<?x?xf32>
  %y = stablehlo.dynamic_iota %m, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %z = chlo.broadcast_add %x, %y : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  %k = tensor.cast %z : tensor<?x?xf32> to tensor<2x3xf32>
  check.expect_eq_const %k, dense<[[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]> : tensor<2x3xf32>
  %e = chlo.lgamma %z : tensor<?x?xf32> -> tensor<?x?xf32>
  %e2 = chlo.erf_inv %z : tensor<?x?xf32> -> tensor<?x?xf32>
  %e3 = chlo.digamma %e : tensor<?x?xf32> -> tensor<?x?xf32>
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %w = chlo.broadcast_multiply %z, %c : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %q = tensor.cast %w : tensor<?x?xf32> to tensor<2x3xf32>
  check.expect_eq %k, %q : tensor<2x3xf32>
  func.return
}
