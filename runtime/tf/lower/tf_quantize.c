/* Rounding to few levels: fake quantisation with its gradients, and quantisation and back in
 * floats. The range of fake quantisation is nudged so that 0 is one of the levels. */
#include <float.h>
#include <math.h>

#include "tf/compile/tf_lower.h"

/* Range and step of fake quantisation, arrays of the input's shape. */
typedef struct levels {
  expr_t low, high, scale;
} levels_t;

/* The lowest and highest level as numbers: 0, or 1 with narrow_range, and 2^num_bits - 1. */
static hr_status_t read_bits(tf_op_t *op, double *out_low, double *out_high) {
  int64_t bits;
  bool narrow;
  HR_TRY(tf_attr_int(op->arena, op->node, "num_bits", 8, &bits));
  HR_TRY(tf_attr_bool(op->arena, op->node, "narrow_range", false, &narrow));
  if (bits < 2 || bits > 16) return tf_error(op, "%ld bits, want 2 to 16", (long)bits);
  *out_low = narrow ? 1 : 0;
  *out_high = (double)((1 << bits) - 1);
  return NULL;
}

/* The zero point is the nearest level to where 0 falls, within the levels.
 * scale = (high - low) / (last - first). Both bounds move by the same part of a step. */
static hr_status_t nudge(tf_op_t *op, expr_t low, expr_t high, levels_t *out) {
  hlo_builder_t *b = op->b;
  double first = 0, last = 0;
  HR_TRY(read_bits(op, &first, &last));
  if (!low || !high) return hlo_builder_finish(b);
  expr_t smallest = f_number(b, first, low), largest = f_number(b, last, low);
  out->scale = f_div(b, f_sub(b, high, low), f_number(b, last - first, low));
  expr_t from_min = f_sub(b, smallest, f_div(b, low, out->scale));
  expr_t rounded = from_min ? hlo_build_unary(b, HLO_ROUND_NEAREST_AFZ, from_min) : NULL;
  expr_t zero = f_select(b, f_lt(b, from_min, smallest), smallest, rounded);
  zero = f_select(b, f_gt(b, from_min, largest), largest, zero);
  out->low = f_mul(b, f_sub(b, smallest, zero), out->scale);
  out->high = f_mul(b, f_sub(b, largest, zero), out->scale);
  return hlo_builder_finish(b);
}

/* Levels from two inputs (scalars, or vectors along the last dimension), or from the attributes min
 * and max if `first` is -1.
 * Inputs `first` and first + 1 are min and max. */
static hr_status_t find_levels(tf_op_t *op, int first, expr_t x, levels_t *out) {
  hlo_builder_t *b = op->b;
  double low = -6, high = 6;
  levels_t own = {NULL, NULL, NULL};
  expr_t bounds[2];
  if (first < 0) {
    HR_TRY(tf_attr_float(op->arena, op->node, "min", -6, &low));
    HR_TRY(tf_attr_float(op->arena, op->node, "max", 6, &high));
  }
  bounds[0] = first < 0 ? tf_scalar(b, low, x->shape->dtype) : tf_in(op, first);
  bounds[1] = first < 0 ? tf_scalar(b, high, x->shape->dtype) : tf_in(op, first + 1);
  HR_TRY(nudge(op, bounds[0], bounds[1], &own));
  out->low = tf_broadcast_like(b, own.low, x);
  out->high = tf_broadcast_like(b, own.high, x);
  out->scale = tf_broadcast_like(b, own.scale, x);
  return hlo_builder_finish(b);
}

/* FakeQuantWithMinMaxArgs, Vars (scalars) and VarsPerChannel (vectors along the last dimension):
 * floor((clamp(x) - low) / scale + 0.5) scale + low. Inputs: x, and by the variant the number of
 * min, which max follows; -1: both are attributes. */
hr_status_t tf_lower_fake_quant(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  levels_t l;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  HR_TRY(find_levels(op, op->row->variant, x, &l));
  expr_t clamped = f_max(b, f_min(b, x, l.high), l.low);
  expr_t inverse = f_div(b, f_number(b, 1, x), l.scale);
  expr_t steps = f_mul(b, f_sub(b, clamped, l.low), inverse);
  expr_t level = f_floor(b, f_add(b, steps, f_number(b, 0.5, x)));
  return tf_out(op, 0, f_add(b, f_mul(b, level, l.scale), l.low));
}

/* Sum over all dimensions, or all but the last.
 * The shape of the bounds: a scalar, or a vector by channel. */
static expr_t sum_outside(tf_op_t *op, expr_t x, bool by_channel) {
  int64_t dims[HLO_MAX_RANK];
  int count = x ? x->shape->rank - by_channel : 0;
  for (int d = 0; d < count; d++) dims[d] = d;
  return tf_reduce(op, HLO_ADD, x, count, dims, false);
}

/* Inputs: gradients, x[, min, max]. Outputs: gradients of elements between the bounds; for the
 * bounds, sums of those outside. variant 0: bounds are attributes; 1: scalars; 2: by channel. */
hr_status_t tf_lower_fake_quant_grad(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  levels_t l;
  int variant = op->row->variant;
  expr_t gradient = tf_in(op, 0), x = tf_in(op, 1);
  if (!x || !gradient) return hlo_builder_finish(b);
  HR_TRY(find_levels(op, variant ? 2 : -1, x, &l));
  expr_t zero = f_number(b, 0, gradient), below = f_lt(b, x, l.low), above = f_gt(b, x, l.high);
  expr_t inside = f_and(b, f_ge(b, x, l.low), f_le(b, x, l.high));
  HR_TRY(tf_out(op, 0, f_select(b, inside, gradient, zero)));
  if (!variant) return NULL;
  bool by_channel = variant == 2;
  HR_TRY(tf_out(op, 1, sum_outside(op, f_select(b, below, gradient, zero), by_channel)));
  return tf_out(op, 2, sum_outside(op, f_select(b, above, gradient, zero), by_channel));
}

/* --- quantise and back --- */

/* Attributes of QuantizeAndDequantize: signed_input, range_given, narrow_range, round_mode
 * HALF_UP, num_bits, and the axis of ranges by position (-1: one range). */
typedef struct quantize {
  bool is_signed, range_given, narrow, half_up;
  int64_t bits, axis;
} quantize_t;

/* V3 has no attribute num_bits but an input. */
static hr_status_t read_quantize(tf_op_t *op, quantize_t *q) {
  hr_str_t mode;
  HR_TRY(tf_attr_bool(op->arena, op->node, "signed_input", true, &q->is_signed));
  HR_TRY(tf_attr_bool(op->arena, op->node, "range_given", op->row->variant, &q->range_given));
  HR_TRY(tf_attr_bool(op->arena, op->node, "narrow_range", false, &q->narrow));
  HR_TRY(tf_attr_int(op->arena, op->node, "num_bits", 8, &q->bits));
  HR_TRY(tf_attr_int(op->arena, op->node, "axis", -1, &q->axis));
  HR_TRY(tf_attr_str(op->arena, op->node, "round_mode", "HALF_TO_EVEN", &mode));
  if (op->row->variant) HR_TRY(tf_const_int(op, 3, &q->bits)); /* V3 */
  q->half_up = hr_str_is(mode, "HALF_UP");
  if (q->bits < 1 || q->bits > 62) return tf_error(op, "%ld bits", (long)q->bits);
  return NULL;
}

/* A bound over the shape of x: an input, or the extreme of x, by position along the axis.
 * A given range by position is a vector along the axis. */
static expr_t range_bound(tf_op_t *op, const quantize_t *q, expr_t x, int k, hlo_opcode_t extreme) {
  int64_t dims[HLO_MAX_RANK], wide[HLO_MAX_RANK];
  int count = 0, rank = x->shape->rank;
  expr_t bound = q->range_given ? tf_in(op, k) : NULL;
  for (int d = 0; d < rank; d++) {
    if (d != q->axis) dims[count++] = d;
    wide[d] = d == q->axis ? x->shape->dims[d] : 1;
  }
  if (!q->range_given) bound = tf_reduce(op, extreme, x, count, dims, true);
  if (q->range_given && q->axis >= 0) bound = tf_reshape(op->b, bound, rank, wide);
  return tf_broadcast_like(op->b, bound, x);
}

/* Inputs: x, min, max[, bits]. variant 1: V3, whose bits are an input. */
hr_status_t tf_lower_quantize_and_dequantize(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  quantize_t q;
  expr_t x = tf_in(op, 0);
  HR_TRY(read_quantize(op, &q));
  if (!x) return hlo_builder_finish(b);
  if (q.axis >= x->shape->rank) return tf_error(op, "axis %ld", (long)q.axis);
  expr_t low = range_bound(op, &q, x, 1, HLO_MINIMUM);
  expr_t high = range_bound(op, &q, x, 2, HLO_MAXIMUM);
  if (!low || !high) return hlo_builder_finish(b);
  double least = q.is_signed ? -ldexp(1, (int)q.bits - 1) + q.narrow : 0;
  double most = q.is_signed ? ldexp(1, (int)q.bits - 1) - 1 : ldexp(1, (int)q.bits) - 1;
  expr_t none = f_number(b, FLT_MAX, x), zero = f_number(b, 0, x);
  expr_t first = f_number(b, least, x), last = f_number(b, most, x);
  /* The scale (levels per unit) is the smaller of both sides' scales, so that both bounds are
   * within the levels. A side whose bound has the other sign, or is 0, does not limit the scale. */
  expr_t by_low = f_select(b, f_gt(b, f_mul(b, first, low), zero), f_div(b, first, low), none);
  expr_t by_high = f_select(b, f_gt(b, f_mul(b, last, high), zero), f_div(b, last, high), none);
  expr_t is_low = f_lt(b, by_low, by_high);
  expr_t scale = f_select(b, is_low, by_low, by_high);
  expr_t step = f_select(b, is_low, f_div(b, low, first), f_div(b, high, last));
  expr_t top = f_select(b, is_low, f_mul(b, last, step), high);
  expr_t bottom = f_select(b, is_low, low, f_mul(b, first, step));
  if (q.range_given) x = f_max(b, f_min(b, x, top), bottom);
  expr_t level = f_mul(b, x, scale);
  if (!level) return hlo_builder_finish(b);
  level = q.half_up ? f_floor(b, f_add(b, level, f_number(b, 0.5, level)))
                    : hlo_build_unary(b, HLO_ROUND_NEAREST_EVEN, level);
  return tf_out(op, 0, f_mul(b, level, step));
}
