/* Reductions. Sums of narrow floats accumulate in f32, as XLA:CPU does. */
#include <math.h>
#include <string.h>

#include "tf/compile/tf_lower.h"

/* Input 1 lists axes, which may be negative or occur twice; HLO wants each of them once. */
static hr_status_t reduction_dims(tf_op_t *op, int rank, hr_ints_t *out_dims) {
  hr_ints_t axes;
  int64_t *dims;
  int count = 0, at;
  bool seen[HLO_MAX_RANK] = {false};
  HR_TRY(tf_const_ints(op, 1, &axes));
  HR_TRY(HR_NEW_ARRAY(op->arena, axes.count, &dims));
  for (int64_t i = 0; i < axes.count; i++) {
    HR_TRY(tf_axis(op, axes.data[i], rank, &at));
    if (!seen[at]) dims[count++] = at;
    seen[at] = true;
  }
  *out_dims = (hr_ints_t){dims, count};
  return NULL;
}

/* The root of an integer is cut to one. */
static expr_t root_of(hlo_builder_t *b, expr_t x) {
  if (!x || !hr_dtype_is_integer(x->shape->dtype)) return f_sqrt(b, x);
  return hlo_build_convert(b, f_sqrt(b, hlo_build_convert(b, x, HR_F64)), x->shape->dtype);
}

/* x, a sum of elements of `all`, divided by their number along the dimensions. */
static expr_t divide_by_count(hlo_builder_t *b, expr_t x, expr_t all, hr_ints_t dims) {
  double fixed = 1;
  expr_t count = NULL;
  if (!x) return NULL;
  for (int64_t i = 0; i < dims.count; i++) {
    int d = (int)dims.data[i];
    bool is_dynamic = all->shape->dynamic && all->shape->dynamic[d];
    expr_t size = is_dynamic ? hlo_build_convert(b, tf_size_of(b, all, d), x->shape->dtype) : NULL;
    if (!is_dynamic) fixed *= (double)all->shape->dims[d];
    if (is_dynamic) count = count ? f_mul(b, count, size) : size;
  }
  x = f_div(b, x, f_number(b, fixed, x));
  return count ? f_div(b, x, tf_broadcast_like(b, count, x)) : x;
}

/* Sum, Prod, Max, Min, All, Any, Mean and EuclideanNorm; attribute keep_dims leaves sizes of 1.
 * Variant: opcode of the reducer; DIVIDE: mean; SQRT: Euclidean norm. Mean divides by the number of
 * elements that were added, EuclideanNorm is sqrt(sum |x|^2). */
hr_status_t tf_lower_reduce(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hr_ints_t dims;
  bool keep;
  expr_t x = tf_in(op, 0), all = x;
  if (!x) return hlo_builder_finish(b);
  hr_dtype_t dtype = x->shape->dtype;
  hlo_opcode_t variant = (hlo_opcode_t)op->row->variant;
  bool sums = variant == HLO_ADD || variant == HLO_DIVIDE || variant == HLO_SQRT;
  HR_TRY(tf_attr_bool(op->arena, op->node, "keep_dims", false, &keep));
  HR_TRY(reduction_dims(op, x->shape->rank, &dims));
  bool widen = tf_is_narrow_float(dtype) && (sums || variant == HLO_MULTIPLY);
  if (widen) x = hlo_build_convert(b, x, HR_F32);
  if (variant == HLO_SQRT) x = f_mul(b, x, tf_conjugate(b, x));
  x = tf_reduce(op, sums ? HLO_ADD : variant, x, (int)dims.count, dims.data, keep);
  if (variant == HLO_DIVIDE) x = divide_by_count(b, x, all, dims);
  if (variant == HLO_SQRT) x = root_of(b, x);
  if (widen && x) x = hlo_build_convert(b, x, dtype);
  return tf_out(op, 0, x);
}

/* L2Loss: half the sum of squares over all dimensions. */
hr_status_t tf_lower_l2_loss(tf_op_t *op) {
  int64_t dims[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  for (int d = 0; d < x->shape->rank; d++) dims[d] = d;
  expr_t sum = tf_reduce(op, HLO_ADD, f_mul(op->b, x, x), x->shape->rank, dims, false);
  return tf_out(op, 0, sum ? f_mul(op->b, sum, f_number(op->b, 0.5, sum)) : NULL);
}

/* ArgMax and ArgMin(input, dimension), attribute output_type (default s64). The first index of the
 * extreme value: the least index among those that equal the extreme. NaN is larger than all
 * numbers, as in XLA. Variant: MAXIMUM or MINIMUM. */
hr_status_t tf_lower_arg(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t axis, dim;
  int at;
  hr_dtype_t dtype;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  HR_TRY(tf_const_int(op, 1, &axis));
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "output_type", &dtype));
  if (dtype == HR_TUPLE) dtype = HR_S64;
  dim = at;
  expr_t extreme = tf_reduce(op, (hlo_opcode_t)op->row->variant, x, 1, &dim, true);
  expr_t wide = tf_broadcast_like(b, extreme, x);
  expr_t hit = f_eq(b, x, wide);
  if (hr_dtype_is_float(x->shape->dtype)) hit = f_or(b, hit, f_ne(b, x, x));
  tf_sizes_t sizes = tf_sizes_of(b, x);
  expr_t index = tf_iota_sized(b, dtype, &sizes, at);
  if (!hit || !index) return hlo_builder_finish(b);
  expr_t last = f_number(b, (double)x->shape->dims[at], index);
  return tf_out(op, 0, tf_reduce(op, HLO_MINIMUM, f_select(b, hit, index, last), 1, &dim, false));
}

/* Cumsum and Cumprod(x, axis). Prefix sums and products as a window of the whole dimension, padded
 * in front. The window of size n ends at the element. `exclusive` leaves the element itself out by
 * a shift of one; `reverse` turns the array around before and after. */
hr_status_t tf_lower_cumulate(tf_op_t *op) {
  hlo_window_dim_t window[HLO_MAX_RANK];
  int64_t axis, dim;
  bool exclusive, reverse;
  int at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_int(op, 1, &axis));
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  HR_TRY(tf_attr_bool(op->arena, op->node, "exclusive", false, &exclusive));
  HR_TRY(tf_attr_bool(op->arena, op->node, "reverse", false, &reverse));
  int64_t size = x->shape->dims[at];
  if (!size) return tf_out(op, 0, x);
  dim = at;
  hlo_opcode_t scalar_op = (hlo_opcode_t)op->row->variant;
  for (int d = 0; d < x->shape->rank; d++)
    window[d] =
        (hlo_window_dim_t){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  window[at].size = size;
  window[at].pad_low = exclusive ? size : size - 1;
  window[at].pad_high = exclusive ? -1 : 0;
  if (reverse) HR_TRY(tf_reverse(op, x, 1, &dim, &x));
  expr_t init = x ? tf_identity_value(op->b, scalar_op, x->shape->dtype) : NULL;
  x = tf_reduce_window(op, scalar_op, x, init, window);
  if (reverse) HR_TRY(tf_reverse(op, x, 1, &dim, &x));
  return tf_out(op, 0, x);
}
