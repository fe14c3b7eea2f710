// ----- quant_abs_axis
// EXPECT: 3:8 abs I1
func.func @main(%a0: tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>) -> tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>> {
  %r = "stablehlo.abs"(%a0) : (tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>) -> tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>
  return %r : tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>
}
// ----- quant_axis_count
// EXPECT: 3:8 quantized tensor C13
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<2xf32> {
  %r = stablehlo.uniform_dequantize %a0 : (tensor<2x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// ----- quant_axis_range
// EXPECT: 3:8 quantized tensor C12
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32:3, {1.0}>>) -> tensor<2xf32> {
  %r = stablehlo.uniform_dequantize %a0 : (tensor<2x!quant.uniform<i8:f32:3, {1.0}>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// ----- quant_convert
// EXPECT: 3:8 takes no quantised values
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2xf32> {
  %r = stablehlo.convert %a0 : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// ----- quant_dot_shape
// EXPECT: 3:8 dot_general C12
func.func @main(%a0: tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>, %a1: tensor<2x2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0:17>> {
  %r = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>, tensor<2x2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<2x3x!quant.uniform<i8:f32, 1.0:17>>
}
// ----- quant_dot_zp
// EXPECT: 3:8 dot_general C15
func.func @main(%a0: tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x2x!quant.uniform<i8:f32, 1.0:17>> {
  %r = stablehlo.dot_general %a0, %a0, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>, tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<2x2x!quant.uniform<i8:f32, 1.0:17>>
}
// ----- quant_dq_expr
// EXPECT: 3:8 uniform_dequantize C2
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2xf64> {
  %r = stablehlo.uniform_dequantize %a0 : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2xf64>
  return %r : tensor<2xf64>
}
// ----- quant_mixed
// EXPECT: 3:8 add C1
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>, %a1: tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 1.0:17>> {
  %r = "stablehlo.add"(%a0, %a1) : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>, tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<2x!quant.uniform<i8:f32, 1.0:17>>
}
// ----- quant_pad_val
// EXPECT: 3:8 pad C1
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>, %a1: tensor<!quant.uniform<i8:f32, 1.0:3>>) -> tensor<3x!quant.uniform<i8:f32, 1.0:17>> {
  %r = stablehlo.pad %a0, %a1, low = [1], high = [0], interior = [0] : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>, tensor<!quant.uniform<i8:f32, 1.0:3>>) -> tensor<3x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<3x!quant.uniform<i8:f32, 1.0:17>>
}
// ----- quant_q_shape
// EXPECT: 3:8 uniform_quantize C1
func.func @main(%a0: tensor<3xf32>) -> tensor<2x!quant.uniform<i8:f32, 1.0:17>> {
  %r = stablehlo.uniform_quantize %a0 : (tensor<3xf32>) -> tensor<2x!quant.uniform<i8:f32, 1.0:17>>
  return %r : tensor<2x!quant.uniform<i8:f32, 1.0:17>>
}
// ----- quant_scale
// EXPECT: 3:8 quantized type C5-C6
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, -1.0>>) -> tensor<2x!quant.uniform<i8:f32, -1.0>> {
  %r = "stablehlo.abs"(%a0) : (tensor<2x!quant.uniform<i8:f32, -1.0>>) -> tensor<2x!quant.uniform<i8:f32, -1.0>>
  return %r : tensor<2x!quant.uniform<i8:f32, -1.0>>
}
// ----- quant_slice_type
// EXPECT: 3:8 slice C1
func.func @main(%a0: tensor<4x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x!quant.uniform<i8:f32, 2.0:17>> {
  %r = stablehlo.slice %a0 [0:2] : (tensor<4x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x!quant.uniform<i8:f32, 2.0:17>>
  return %r : tensor<2x!quant.uniform<i8:f32, 2.0:17>>
}
// ----- quant_storage
// EXPECT: 3:8 abs C1
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x!quant.uniform<i16:f32, 1.0:17>> {
  %r = "stablehlo.abs"(%a0) : (tensor<2x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<2x!quant.uniform<i16:f32, 1.0:17>>
  return %r : tensor<2x!quant.uniform<i16:f32, 1.0:17>>
}
// ----- quant_zp
// EXPECT: 3:8 quantized type C7
func.func @main(%a0: tensor<2x!quant.uniform<i8:f32, 1.0:300>>) -> tensor<2x!quant.uniform<i8:f32, 1.0:300>> {
  %r = "stablehlo.abs"(%a0) : (tensor<2x!quant.uniform<i8:f32, 1.0:300>>) -> tensor<2x!quant.uniform<i8:f32, 1.0:300>>
  return %r : tensor<2x!quant.uniform<i8:f32, 1.0:300>>
}
// ----- broadcast_along_other_dimension
// EXPECT: 3:8 dimension 3
func.func @main(%x: tensor<1x2x1x!quant.uniform<i8:f32:2, {0.1:-30}>>) {
  %r = "stablehlo.broadcast_in_dim"(%x) {broadcast_dimensions = array<i64: 0, 1, 2>} : (tensor<1x2x1x!quant.uniform<i8:f32:2, {0.1:-30}>>) -> tensor<1x2x3x2x!quant.uniform<i8:f32:3, {0.1:-30, 0.1:-30}>>
  return
}
// ----- broadcast_of_other_scales
// EXPECT: 3:8 (broadcast_in_dim C1)
func.func @main(%x: tensor<1x2x1x!quant.uniform<i8:f32:2, {0.1:-30}>>) {
  %r = "stablehlo.broadcast_in_dim"(%x) {broadcast_dimensions = array<i64: 0, 1, 3>} : (tensor<1x2x1x!quant.uniform<i8:f32:2, {0.1:-30}>>) -> tensor<1x2x3x2x!quant.uniform<i8:f32:3, {0.2:2, 0.5:-20}>>
  return
}
// ----- transpose_of_other_dimension
// EXPECT: 3:8 dimension 1
func.func @main(%x: tensor<1x2x2x!quant.uniform<i8:f32:0, {0.1:-30}>>) {
  %r = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<1x2x2x!quant.uniform<i8:f32:0, {0.1:-30}>>) -> tensor<1x2x2x!quant.uniform<i8:f32:1, {0.1:-30, 0.1:-30}>>
  return
}
// ----- reshape_to_other_dimension
// EXPECT: 3:8 dimension 1
func.func @main(%x: tensor<1x2x3x20x!quant.uniform<i8:f32:0, {1.0:17}>>) {
  %r = stablehlo.reshape %x : (tensor<1x2x3x20x!quant.uniform<i8:f32:0, {1.0:17}>>) -> tensor<2x1x3x20x!quant.uniform<i8:f32:1, {1.0:17}>>
  return
}
// ----- quant_scale_large
// EXPECT: 3:8 scale 105504, want one from 5.96046e-08 to 65504 of f16 (quantized type C6)
func.func @main(%a0: tensor<2x!quant.uniform<i4:f16, 10.5504e+04>>) -> tensor<2x!quant.uniform<i4:f16, 10.5504e+04>> {
  %r = stablehlo.add %a0, %a0 : tensor<2x!quant.uniform<i4:f16, 10.5504e+04>>
  return %r : tensor<2x!quant.uniform<i4:f16, 10.5504e+04>>
}
// ----- quant_scale_small
// EXPECT: 3:8 scale 4.96046e-08, want one from 5.96046e-08
func.func @main(%a0: tensor<2x!quant.uniform<i4:f16, 4.960464e-08>>) -> tensor<2x!quant.uniform<i4:f16, 4.960464e-08>> {
  %r = stablehlo.add %a0, %a0 : tensor<2x!quant.uniform<i4:f16, 4.960464e-08>>
  return %r : tensor<2x!quant.uniform<i4:f16, 4.960464e-08>>
}
// ----- quant_reduce_expressed
// EXPECT: 3:8 an initial value and the region differ in their expressed types (reduce)
func.func @main(%a0: tensor<4x4x!quant.uniform<i8:f64, 2.0:15>>, %a1: tensor<!quant.uniform<i8:f32, 2.0:15>>) -> tensor<4x!quant.uniform<i32:f64, 2.0:15>> {
  %r = stablehlo.reduce(%a0 init: %a1) across dimensions = [0] : (tensor<4x4x!quant.uniform<i8:f64, 2.0:15>>, tensor<!quant.uniform<i8:f32, 2.0:15>>) -> tensor<4x!quant.uniform<i32:f64, 2.0:15>>
    reducer(%x: tensor<!quant.uniform<i32:f64, 2.0:15>>, %y: tensor<!quant.uniform<i32:f64, 2.0:15>>) {
    %s = stablehlo.add %x, %y : tensor<!quant.uniform<i32:f64, 2.0:15>>
    stablehlo.return %s : tensor<!quant.uniform<i32:f64, 2.0:15>>
  }
  return %r : tensor<4x!quant.uniform<i32:f64, 2.0:15>>
}
// ----- quant_reduce_narrower
// EXPECT: 3:8 the region stores 8 bits of 16 of an input (reduce)
func.func @main(%a0: tensor<4x4x!quant.uniform<i16:f32, 2.0:15>>, %a1: tensor<!quant.uniform<i8:f32, 2.0:15>>) -> tensor<4x!quant.uniform<i8:f32, 2.0:15>> {
  %r = stablehlo.reduce(%a0 init: %a1) across dimensions = [0] : (tensor<4x4x!quant.uniform<i16:f32, 2.0:15>>, tensor<!quant.uniform<i8:f32, 2.0:15>>) -> tensor<4x!quant.uniform<i8:f32, 2.0:15>>
    reducer(%x: tensor<!quant.uniform<i8:f32, 2.0:15>>, %y: tensor<!quant.uniform<i8:f32, 2.0:15>>) {
    %s = stablehlo.add %x, %y : tensor<!quant.uniform<i8:f32, 2.0:15>>
    stablehlo.return %s : tensor<!quant.uniform<i8:f32, 2.0:15>>
  }
  return %r : tensor<4x!quant.uniform<i8:f32, 2.0:15>>
}
// ----- barrier_along_axis
// EXPECT: 3:8 (optimization_barrier I1)
func.func @main(%a: tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>) {
  %r = "stablehlo.optimization_barrier"(%a) : (tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>) -> tensor<1x2x!quant.uniform<i8:f32:0, {0.1:-30}>>
  return
}
