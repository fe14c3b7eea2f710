// Quantised types: their arithmetic, and that storage values move as they are.
!u8 = !quant.uniform<u8:f32, 5.000000e-01:128>
func.func @main() {
  %f = stablehlo.constant dense<[4.0, 15.0]> : tensor<2xf32>
  %a = stablehlo.uniform_quantize %f : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1:-30, 0.5:-20}>>
  %ai = stablehlo.bitcast_convert %a : (tensor<2x!quant.uniform<i8:f32:0, {0.1:-30, 0.5:-20}>>) -> tensor<2xi8>
  check.expect_eq_const %ai, dense<[10, 10]> : tensor<2xi8>
  %b = stablehlo.uniform_quantize %a : (tensor<2x!quant.uniform<i8:f32:0, {0.1:-30, 0.5:-20}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1:-20, 0.2:-30}>>
  %bi = stablehlo.bitcast_convert %b : (tensor<2x!quant.uniform<i8:f32:0, {0.1:-20, 0.2:-30}>>) -> tensor<2xi8>
  check.expect_eq_const %bi, dense<[20, 45]> : tensor<2xi8>
  %d = stablehlo.uniform_dequantize %a : (tensor<2x!quant.uniform<i8:f32:0, {0.1:-30, 0.5:-20}>>) -> tensor<2xf32>
  check.expect_almost_eq_const %d, dense<[4.0, 15.0]> : tensor<2xf32>

  %x = stablehlo.constant() <{value = dense<[1, 2]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.1:-30>>
  %y = stablehlo.constant() <{value = dense<[3, 4]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
  %s = stablehlo.add %x, %y : (tensor<2x!quant.uniform<i8:f32, 0.1:-30>>, tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
  %si = stablehlo.bitcast_convert %s : (tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2xi8>
  check.expect_eq_const %si, dense<[9, 10]> : tensor<2xi8>
  %lt = stablehlo.compare LT, %x, %y : (tensor<2x!quant.uniform<i8:f32, 0.1:-30>>, tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2xi1>
  check.expect_eq_const %lt, dense<[true, true]> : tensor<2xi1>

  // Saturation, narrow range, unsigned storage, ties to even.
  %g = stablehlo.constant dense<[-1.0e6, 1.0e6, 0.25, 0.75]> : tensor<4xf32>
  %n = stablehlo.uniform_quantize %g : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8<-127:127>:f32, 0.5>>
  %ni = stablehlo.bitcast_convert %n : (tensor<4x!quant.uniform<i8<-127:127>:f32, 0.5>>) -> tensor<4xi8>
  check.expect_eq_const %ni, dense<[-127, 127, 0, 2]> : tensor<4xi8>
  %u = stablehlo.uniform_quantize %g : (tensor<4xf32>) -> tensor<4x!u8>
  %ui = stablehlo.bitcast_convert %u : (tensor<4x!u8>) -> tensor<4xui8>
  check.expect_eq_const %ui, dense<[0, 255, 128, 130]> : tensor<4xui8>

  // Sums of products; weights with a scale each.
  %l = stablehlo.constant() <{value = dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>}> : () -> tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>
  %r = stablehlo.constant() <{value = dense<[[2, 4], [6, 8]]> : tensor<2x2xi8>}> : () -> tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  %p = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>, tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) -> tensor<2x2x!quant.uniform<i32:f32:1, {0.5, 1.0}>>
  %pi = stablehlo.bitcast_convert %p : (tensor<2x2x!quant.uniform<i32:f32:1, {0.5, 1.0}>>) -> tensor<2x2xi32>
  check.expect_eq_const %pi, dense<[[6, 8], [22, 32]]> : tensor<2x2xi32>
  %lf = stablehlo.constant dense<[[0.0, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>
  %h = stablehlo.dot_general %lf, %r, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) -> tensor<2x2xf32>
  check.expect_eq_const %h, dense<[[6.0, 16.0], [22.0, 64.0]]> : tensor<2x2xf32>

  // stablehlo.dot: zero points on the right, scales along the contracted dimension, floats beside
  // quantised values.
  %z = stablehlo.constant() <{value = dense<[[2, 4], [6, 8]]> : tensor<2x2xi8>}> : () -> tensor<2x2x!quant.uniform<i8:f32, 1.0:2>>
  %dz = "stablehlo.dot"(%l, %z) : (tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>, tensor<2x2x!quant.uniform<i8:f32, 1.0:2>>) -> tensor<2x2x!quant.uniform<i32:f32, 0.5:3>>
  %di = stablehlo.bitcast_convert %dz : (tensor<2x2x!quant.uniform<i32:f32, 0.5:3>>) -> tensor<2x2xi32>
  check.expect_eq_const %di, dense<[[7, 9], [15, 25]]> : tensor<2x2xi32>
  %c = stablehlo.constant() <{value = dense<[[2, 4], [6, 8]]> : tensor<2x2xi8>}> : () -> tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
  %dc = "stablehlo.dot"(%l, %c) : (tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>, tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x2x!quant.uniform<i32:f32, 1.0>>
  %dci = stablehlo.bitcast_convert %dc : (tensor<2x2x!quant.uniform<i32:f32, 1.0>>) -> tensor<2x2xi32>
  check.expect_eq_const %dci, dense<[[6, 8], [20, 28]]> : tensor<2x2xi32>
  %dh = "stablehlo.dot"(%lf, %z) : (tensor<2x2xf32>, tensor<2x2x!quant.uniform<i8:f32, 1.0:2>>) -> tensor<2x2x!quant.uniform<i8:f32, 1.0:3>>
  %dhi = stablehlo.bitcast_convert %dh : (tensor<2x2x!quant.uniform<i8:f32, 1.0:3>>) -> tensor<2x2xi8>
  check.expect_eq_const %dhi, dense<[[7, 9], [15, 25]]> : tensor<2x2xi8>

  // Padding of a convolution is the number 0, not the storage value 0.
  %img = stablehlo.constant() <{value = dense<[[[3], [5], [7]]]> : tensor<1x3x1xi8>}> : () -> tensor<1x3x1x!quant.uniform<i8:f32, 1.0:3>>
  %ker = stablehlo.constant() <{value = dense<[[[1]], [[1]], [[1]]]> : tensor<3x1x1xi8>}> : () -> tensor<3x1x1x!quant.uniform<i8:f32, 1.0>>
  %conv = stablehlo.convolution(%img, %ker) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1x!quant.uniform<i8:f32, 1.0:3>>, tensor<3x1x1x!quant.uniform<i8:f32, 1.0>>) -> tensor<1x3x1x!quant.uniform<i8:f32, 2.0:-1>>
  %convi = stablehlo.bitcast_convert %conv : (tensor<1x3x1x!quant.uniform<i8:f32, 2.0:-1>>) -> tensor<1x3x1xi8>
  check.expect_eq_const %convi, dense<[[[0], [2], [2]]]> : tensor<1x3x1xi8>

  // Reductions whose body is on quantised scalars.
  %zero = stablehlo.constant() <{value = dense<1> : tensor<i8>}> : () -> tensor<!quant.uniform<i8:f32, 0.5:1>>
  %red = stablehlo.reduce(%l init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>, tensor<!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:1>>
  %redi = stablehlo.bitcast_convert %red : (tensor<2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2xi8>
  check.expect_eq_const %redi, dense<[2, 6]> : tensor<2xi8>

  // Movement.
  %t = stablehlo.transpose %r, dims = [1, 0] : (tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
  %td = stablehlo.uniform_dequantize %t : (tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x2xf32>
  check.expect_eq_const %td, dense<[[2.0, 6.0], [8.0, 16.0]]> : tensor<2x2xf32>

  return
}
