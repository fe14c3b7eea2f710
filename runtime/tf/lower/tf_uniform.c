/* Quantised numbers: floats out of them, and TensorFlow's uniform quantisation, where a number q
 * stands for (q - zero point) scale, with one scale or one by position along an axis. Sums and
 * products are computed on whole numbers; a result is brought to its own scale at the end.
 * Source: the operations' documentation (UniformQuantize and its like, Dequantize). */
#include <math.h>

#include "tf/lower/tf_window.h"

/* --- Dequantize --- */

/* Range of a whole type: its least and greatest number. */
static void type_range(hr_dtype_t dtype, double *out_low, double *out_high) {
  int bits = hr_dtype_table[dtype].bits;
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  *out_low = is_signed ? -ldexp(1, bits - 1) : 0;
  *out_high = is_signed ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1;
}

/* A number, or a vector along `axis` (-1: there is one for all), over the shape of x. */
static expr_t along(hlo_builder_t *b, expr_t bound, expr_t x, int64_t axis) {
  int64_t dims[HLO_MAX_RANK];
  if (!bound || !x) return NULL;
  int rank = x->shape->rank;
  if (axis < 0 || axis >= rank || !bound->shape->rank) {
    bound = tf_reshape(b, bound, 0, NULL);
    return tf_broadcast_like(b, bound, x);
  }
  for (int d = 0; d < rank; d++) dims[d] = d == axis ? bound->shape->dims[0] : 1;
  return tf_broadcast_like(b, tf_reshape(b, bound, rank, dims), x);
}

/* Scale of mode SCALED: the larger of both sides' scales, or that of the positive one. */
static expr_t scaled(hlo_builder_t *b, expr_t low, expr_t high, double least, double most) {
  expr_t by_high = f_div(b, high, f_number(b, most, high));
  if (least >= 0) return by_high;
  return f_max(b, f_div(b, low, f_number(b, least, low)), by_high);
}

/* Dequantize(x, min, max), modes MIN_COMBINED, MIN_FIRST and SCALED. */
hr_status_t tf_lower_dequantize(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hr_str_t mode;
  int64_t axis;
  bool narrow;
  double least, most;
  hr_dtype_t to;
  expr_t q = tf_in(op, 0), low = tf_in(op, 1), high = tf_in(op, 2);
  HR_TRY(tf_attr_str(op->arena, op->node, "mode", "MIN_COMBINED", &mode));
  HR_TRY(tf_attr_int(op->arena, op->node, "axis", -1, &axis));
  HR_TRY(tf_attr_bool(op->arena, op->node, "narrow_range", false, &narrow));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &to));
  if (!q || !low || !high) return hlo_builder_finish(b);
  if (!hr_dtype_is_integer(q->shape->dtype)) return tf_error(op, "the input is not quantised");
  type_range(q->shape->dtype, &least, &most);
  expr_t x = hlo_build_convert(b, q, HR_F32), y;
  low = along(b, low, x, axis);
  high = along(b, high, x, axis);
  if (!x || !low || !high) return hlo_builder_finish(b);
  if (hr_str_is(mode, "SCALED")) {
    y = f_mul(b, x, scaled(b, low, high, least + (least < 0 && narrow), most));
  } else {
    /* MIN_COMBINED counts signed numbers from the middle, MIN_FIRST all from the least one. */
    double start = least < 0 ? (most - least + 1) / 2 : 0;
    if (hr_str_is(mode, "MIN_FIRST")) start = -least;
    expr_t scale = f_div(b, f_sub(b, high, low), f_number(b, most - least, x));
    if (hr_str_is(mode, "MIN_FIRST")) /* the range begins at a multiple of the scale */
      low = f_mul(b, hlo_build_unary(b, HLO_ROUND_NEAREST_AFZ, f_div(b, low, scale)), scale);
    y = f_add(b, f_mul(b, f_add(b, x, f_number(b, start, x)), scale), low);
  }
  if (y && to != HR_TUPLE && to != HR_F32) y = hlo_build_convert(b, y, to);
  return tf_out(op, 0, y);
}

/* XlaDequantize: each u32 holds four numbers of 8 bits, the highest bits first; bf16 results, four
 * times as many along the last dimension. */
hr_status_t tf_lower_xla_dequantize(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  double low, high;
  bool transposes;
  expr_t x = tf_in(op, 0), parts[4];
  int64_t dims[HLO_MAX_RANK], order[HLO_MAX_RANK];
  HR_TRY(tf_attr_float(op->arena, op->node, "min_range", 0, &low));
  HR_TRY(tf_attr_float(op->arena, op->node, "max_range", 0, &high));
  HR_TRY(tf_attr_bool(op->arena, op->node, "transpose_output", false, &transposes));
  if (!x) return hlo_builder_finish(b);
  int rank = x->shape->rank;
  if (rank < 1 || rank >= HLO_MAX_RANK || x->shape->dtype != HR_U32)
    return tf_error(op, "want an array of u32");
  for (int d = 0; d < rank; d++) {
    dims[d] = x->shape->dims[d];
    order[d] = rank - 1 - d;
  }
  dims[rank] = 1;
  for (int i = 0; i < 4; i++) {
    expr_t shift = tf_scalar_int(b, 24 - 8 * i, HR_U32), mask = tf_scalar_int(b, 255, HR_U32);
    expr_t part = hlo_build_binary(b, HLO_SHIFT_RIGHT_LOGICAL, x, tf_broadcast_like(b, shift, x));
    part = f_and(b, part, tf_broadcast_like(b, mask, x));
    parts[i] = tf_reshape(b, part, rank + 1, dims);
  }
  if (!parts[0] || !parts[3]) return hlo_builder_finish(b);
  dims[rank - 1] *= 4;
  expr_t all = tf_reshape(b, tf_concat(b, 4, parts, rank), rank, dims);
  expr_t y = all ? hlo_build_convert(b, all, HR_BF16) : NULL;
  if (!y) return hlo_builder_finish(b);
  y = f_mul(b, y, f_number(b, (float)((high - low) / 255), y));
  y = f_add(b, y, f_number(b, low, y));
  return tf_out(op, 0, transposes ? tf_transpose(b, y, order) : y);
}

/* --- uniform quantisation --- */

/* Scale and zero point (f32) over the shape of an array. */
typedef struct scale {
  expr_t scale, zero;
} scale_t;

/* Inputs k and k + 1 over x; `axis` is the attribute of this name. */
static hr_status_t take_scale(tf_op_t *op, int k, expr_t x, const char *attr, scale_t *out) {
  int64_t axis;
  HR_TRY(tf_attr_int(op->arena, op->node, attr, -1, &axis));
  expr_t zero = tf_in(op, k + 1);
  if (zero) zero = hlo_build_convert(op->b, zero, HR_F32);
  out->scale = along(op->b, tf_in(op, k), x, axis);
  out->zero = along(op->b, zero, x, axis);
  return hlo_builder_finish(op->b);
}

/* The nearest number (halves go up) at this scale, within the attributes PREFIX_min_val and
 * PREFIX_max_val. */
static hr_status_t quantise(tf_op_t *op, expr_t x, const scale_t *s, const char *prefix,
                            hr_dtype_t dtype, expr_t *out) {
  hlo_builder_t *b = op->b;
  const char *names[2];
  int64_t low, high;
  HR_TRY(hr_arena_printf(op->arena, &names[0], "%s_min_val", prefix));
  HR_TRY(hr_arena_printf(op->arena, &names[1], "%s_max_val", prefix));
  HR_TRY(tf_attr_int(op->arena, op->node, names[0], INT32_MIN, &low));
  HR_TRY(tf_attr_int(op->arena, op->node, names[1], INT32_MAX, &high));
  if (!x) return hlo_builder_finish(b);
  expr_t level = f_div(b, x, s->scale);
  level = level ? f_floor(b, f_add(b, level, f_number(b, 0.5, level))) : NULL;
  level = f_add(b, level, s->zero);
  if (!level) return hlo_builder_finish(b);
  level =
      f_min(b, f_max(b, level, f_number(b, (double)low, level)), f_number(b, (double)high, level));
  *out = level ? hlo_build_convert(b, level, dtype) : NULL;
  return hlo_builder_finish(b);
}

/* (q - zero) scale. */
static expr_t real_of(hlo_builder_t *b, expr_t q, const scale_t *s) {
  expr_t x = q ? hlo_build_convert(b, q, HR_F32) : NULL;
  return f_mul(b, f_sub(b, x, s->zero), s->scale);
}

/* variant 0: UniformQuantize(x, scale, zero); 1: UniformDequantize; 2: UniformRequantize, with
 * scale and zero point before and after. */
hr_status_t tf_lower_uniform_quantize(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  scale_t s;
  hr_dtype_t to;
  bool both = op->row->variant == 2;
  const char *first = both ? "input_quantization_axis" : "quantization_axis";
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_attr_dtype(op->arena, op->node, "Tout", &to));
  if (!x) return hlo_builder_finish(b);
  if (to == HR_TUPLE) return tf_error(op, "attribute Tout is no type of numbers");
  HR_TRY(take_scale(op, 1, x, first, &s));
  if (op->row->variant) x = real_of(b, x, &s);
  if (op->row->variant == 1)
    return tf_out(op, 0, x && to != HR_F32 ? hlo_build_convert(b, x, to) : x);
  if (both) HR_TRY(take_scale(op, 3, x, "output_quantization_axis", &s));
  HR_TRY(quantise(op, x, &s, both ? "output_quantization" : "quantization", to, &x));
  return tf_out(op, 0, x);
}

/* UniformQuantizedClipByValue(q, min, max, scale, zero): bounds are quantised numbers. */
hr_status_t tf_lower_uniform_clip(tf_op_t *op) {
  int64_t axis;
  expr_t q = tf_in(op, 0);
  HR_TRY(tf_attr_int(op->arena, op->node, "quantization_axis", -1, &axis));
  expr_t low = along(op->b, tf_in(op, 1), q, axis), high = along(op->b, tf_in(op, 2), q, axis);
  return tf_out(op, 0, f_min(op->b, f_max(op->b, q, low), high));
}

/* UniformQuantizedAdd(x, y, three scales and zero points): both at the scale of the result. */
hr_status_t tf_lower_uniform_add(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  scale_t s[3];
  int64_t low, high;
  hr_dtype_t to;
  expr_t in[2] = {tf_in(op, 0), tf_in(op, 1)}, sum = NULL;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "Tout", &to));
  HR_TRY(tf_attr_int(op->arena, op->node, "output_quantization_min_val", INT32_MIN, &low));
  HR_TRY(tf_attr_int(op->arena, op->node, "output_quantization_max_val", INT32_MAX, &high));
  tf_broadcast_pair(b, &in[0], &in[1]);
  if (!in[0] || !in[1]) return hlo_builder_finish(b);
  HR_TRY(take_scale(op, 6, in[0], "output_quantization_axis", &s[2]));
  for (int k = 0; k < 2; k++) {
    const char *axis = k ? "rhs_quantization_axis" : "lhs_quantization_axis";
    HR_TRY(take_scale(op, 2 + 2 * k, in[k], axis, &s[k]));
    expr_t level = f_div(b, real_of(b, in[k], &s[k]), s[2].scale);
    level = level ? f_floor(b, f_add(b, level, f_number(b, 0.5, level))) : NULL;
    sum = sum ? f_add(b, sum, level) : level;
  }
  sum = f_add(b, sum, s[2].zero);
  if (!sum) return hlo_builder_finish(b);
  sum = f_min(b, f_max(b, sum, f_number(b, (double)low, sum)), f_number(b, (double)high, sum));
  if (to == HR_TUPLE) to = HR_S32;
  return tf_out(op, 0, sum ? hlo_build_convert(b, sum, to) : NULL);
}

/* q - zero as s32. */
static expr_t centred(tf_op_t *op, expr_t q, int k, const char *attr) {
  int64_t axis = -1;
  if (!q || tf_attr_int(op->arena, op->node, attr, -1, &axis)) return NULL;
  expr_t zero = along(op->b, tf_in(op, k), q, axis);
  return f_sub(op->b, hlo_build_convert(op->b, q, HR_S32), zero);
}

/* The product of whole numbers, brought to the scale of the result: inputs 2 to 7 are the scales
 * and zero points of left side, right side and result. The right side's scales lie along dimension
 * `axis` of the product. */
static hr_status_t requantise(tf_op_t *op, expr_t product, int64_t axis) {
  hlo_builder_t *b = op->b;
  scale_t s;
  hr_dtype_t to;
  expr_t right = tf_in(op, 4), y;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "Tout", &to));
  if (!product || !right) return hlo_builder_finish(b);
  expr_t x = hlo_build_convert(b, product, HR_F32);
  x = f_mul(b, x, along(b, tf_in(op, 2), x, -1));
  x = f_mul(b, x, along(b, right, x, right->shape->rank ? axis : -1));
  if (!x) return hlo_builder_finish(b);
  HR_TRY(take_scale(op, 6, x, "output_quantization_axis", &s));
  HR_TRY(quantise(op, x, &s, "output_quantization", to == HR_TUPLE ? HR_S32 : to, &y));
  return tf_out(op, 0, y);
}

/* UniformQuantizedDot(x [m, k], y [k, n], scales and zero points). */
hr_status_t tf_lower_uniform_dot(tf_op_t *op) {
  int64_t last = 1, first = 0;
  expr_t x = centred(op, tf_in(op, 0), 3, "lhs_quantization_axis");
  expr_t y = centred(op, tf_in(op, 1), 5, "rhs_quantization_axis");
  if (!x || !y) return hlo_builder_finish(op->b);
  if (x->shape->rank != 2 || y->shape->rank != 2) return tf_error(op, "want two matrices");
  tf_dot_dims_t dims = {.x_contract = {&last, 1}, .y_contract = {&first, 1}};
  return requantise(op, tf_dot(op->b, x, y, &dims), 1);
}

/* UniformQuantizedConvolution(x, kernel, scales and zero points). */
hr_status_t tf_lower_uniform_convolution(tf_op_t *op) {
  int64_t feature;
  expr_t x = centred(op, tf_in(op, 0), 3, "lhs_quantization_axis");
  expr_t y = centred(op, tf_in(op, 1), 5, "rhs_quantization_axis"), product;
  if (!x || !y) return hlo_builder_finish(op->b);
  HR_TRY(tf_quantized_convolution(op, x, y, &product, &feature));
  return requantise(op, product, feature);
}
