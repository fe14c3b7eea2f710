// Quantised values in bodies, in selections, of dynamic sizes, and by blocks.
!q = !quant.uniform<i8:f32, 0.5:-3>
func.func private @body(%x: tensor<!q>, %y: tensor<!q>) -> tensor<!q> {
  %m = stablehlo.maximum %x, %y : tensor<!q>
  return %m : tensor<!q>
}
func.func @main() {
  %x = stablehlo.constant() <{value = dense<[[5, 1, 9], [-4, 2, 0]]> : tensor<2x3xi8>}> : () -> tensor<2x3x!q>
  %init = stablehlo.constant() <{value = dense<-128> : tensor<i8>}> : () -> tensor<!q>
  %r = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<!q>, %b: tensor<!q>):
      %m = stablehlo.maximum %a, %b : tensor<!q>
      stablehlo.return %m : tensor<!q>
  }) {window_dimensions = array<i64: 1, 2>} : (tensor<2x3x!q>, tensor<!q>) -> tensor<2x2x!q>
  %ri = stablehlo.bitcast_convert %r : (tensor<2x2x!q>) -> tensor<2x2xi8>
  check.expect_eq_const %ri, dense<[[5, 9], [2, 2]]> : tensor<2x2xi8>
  %s = "stablehlo.sort"(%x) ({
    ^bb0(%a: tensor<!q>, %b: tensor<!q>):
      %lt = stablehlo.compare LT, %a, %b : (tensor<!q>, tensor<!q>) -> tensor<i1>
      stablehlo.return %lt : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<2x3x!q>) -> tensor<2x3x!q>
  %si = stablehlo.bitcast_convert %s : (tensor<2x3x!q>) -> tensor<2x3xi8>
  check.expect_eq_const %si, dense<[[1, 5, 9], [-4, 0, 2]]> : tensor<2x3xi8>
  %idx = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
  %u = stablehlo.constant() <{value = dense<[[1, 1, 1], [2, 2, 2]]> : tensor<2x3xi8>}> : () -> tensor<2x3x!q>
  %sc = "stablehlo.scatter"(%x, %idx, %u) ({
    ^bb0(%a: tensor<!q>, %b: tensor<!q>):
      %m = stablehlo.add %a, %b : tensor<!q>
      stablehlo.return %m : tensor<!q>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<2x3x!q>, tensor<2x1xi32>, tensor<2x3x!q>) -> tensor<2x3x!q>
  %sci = stablehlo.bitcast_convert %sc : (tensor<2x3x!q>) -> tensor<2x3xi8>
  check.expect_eq_const %sci, dense<[[10, 6, 14], [0, 6, 4]]> : tensor<2x3xi8>
  %mp = "stablehlo.map"(%x, %u) ({
    ^bb0(%a: tensor<!q>, %b: tensor<!q>):
      %m = stablehlo.multiply %a, %b : tensor<!q>
      stablehlo.return %m : tensor<!q>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3x!q>, tensor<2x3x!q>) -> tensor<2x3x!q>
  %mpi = stablehlo.bitcast_convert %mp : (tensor<2x3x!q>) -> tensor<2x3xi8>
  check.expect_eq_const %mpi, dense<[[13, 5, 21], [-6, 10, 4]]> : tensor<2x3xi8>
  %p = stablehlo.constant dense<true> : tensor<i1>
  %sel = stablehlo.select %p, %x, %u : (tensor<i1>, tensor<2x3x!q>, tensor<2x3x!q>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0:0>>
  %seli = stablehlo.bitcast_convert %sel : (tensor<2x3x!quant.uniform<i8:f32, 1.0:0>>) -> tensor<2x3xi8>
  check.expect_eq_const %seli, dense<[[4, 2, 6], [0, 2, 2]]> : tensor<2x3xi8>
  %it = stablehlo.iota dim = 0 : tensor<3x!q>
  %iti = stablehlo.bitcast_convert %it : (tensor<3x!q>) -> tensor<3xi8>
  check.expect_eq_const %iti, dense<[-3, -1, 1]> : tensor<3xi8>
  %lo = stablehlo.constant() <{value = dense<0> : tensor<i8>}> : () -> tensor<!q>
  %hi = stablehlo.constant() <{value = dense<5> : tensor<i8>}> : () -> tensor<!q>
  %cl = stablehlo.clamp %lo, %x, %hi : (tensor<!q>, tensor<2x3x!q>, tensor<!q>) -> tensor<2x3x!q>
  %cli = stablehlo.bitcast_convert %cl : (tensor<2x3x!q>) -> tensor<2x3xi8>
  check.expect_eq_const %cli, dense<[[5, 1, 5], [0, 2, 0]]> : tensor<2x3xi8>
  %pd = stablehlo.pad %x, %lo, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<2x3x!q>, tensor<!q>) -> tensor<2x4x!q>
  %pdi = stablehlo.bitcast_convert %pd : (tensor<2x4x!q>) -> tensor<2x4xi8>
  check.expect_eq_const %pdi, dense<[[0, 5, 1, 9], [0, -4, 2, 0]]> : tensor<2x4xi8>
  // Sizes known only at run time.
  %n = stablehlo.constant dense<[2]> : tensor<1xi32>
  %f = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %dq = stablehlo.uniform_quantize %f : (tensor<?xf32>) -> tensor<?x!quant.uniform<i8:f32:0, {0.5:1, 0.25:-1}>>
  %dd = stablehlo.uniform_dequantize %dq : (tensor<?x!quant.uniform<i8:f32:0, {0.5:1, 0.25:-1}>>) -> tensor<?xf32>
  %dk = tensor.cast %dd : tensor<?xf32> to tensor<2xf32>
  check.expect_eq_const %dk, dense<[0.0, 1.0]> : tensor<2xf32>
  // Blocks.
  %bf = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %bq = stablehlo.uniform_quantize %bf : (tensor<1x4xf32>) -> tensor<1x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 0.5:1}}>>
  %bi = stablehlo.bitcast_convert %bq : (tensor<1x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 0.5:1}}>>) -> tensor<1x4xi8>
  check.expect_eq_const %bi, dense<[[1, 2, 7, 9]]> : tensor<1x4xi8>
  return
}
