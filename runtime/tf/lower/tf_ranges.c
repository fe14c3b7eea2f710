/* Arrays that are made of a few numbers: Fill, Range, LinSpace, OneHot. */
#include "tf/compile/tf_lower.h"

/* Fill(dims, value). */
hr_status_t tf_lower_fill(tf_op_t *op) {
  tf_sizes_t sizes;
  HR_TRY(tf_sizes_in(op, 0, &sizes));
  return tf_out(op, 0, tf_broadcast_sized(op->b, tf_in(op, 1), &sizes));
}

/* The number of a constant scalar; true if its type is an integer. */
static bool value_number(const hlo_value_t *value, double *out_number) {
  if (value->dtype == HR_F32)
    *out_number = *(const float *)value->data;
  else if (value->dtype == HR_F64)
    *out_number = *(const double *)value->data;
  else
    *out_number = (double)hlo_value_int_at(value, 0);
  return hr_dtype_is_integer(value->dtype);
}

/* For a limit that is a number with a bound, as the size of a dynamic array is; start and step are
 * known, and the step is positive. */
static hr_status_t range_at_run_time(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t start, step, bound = tf_upper_bound(op->scope->compiler, tf_in(op, 1));
  expr_t limit = tf_in(op, 1);
  HR_TRY(tf_const_int(op, 0, &start));
  HR_TRY(tf_const_int(op, 2, &step));
  if (!limit) return hlo_builder_finish(b);
  if (bound < 0 || step < 1) return tf_error(op, "input 1 must be a compile-time constant");
  tf_sizes_t sizes = {.rank = 1};
  sizes.dims[0] = bound > start ? (bound - start + step - 1) / step : 0;
  expr_t span = f_sub(b, limit, f_number(b, (double)(start - step + 1), limit));
  if (!span) return hlo_builder_finish(b);
  span = f_max(b, f_div(b, span, f_number(b, (double)step, span)), f_number(b, 0, span));
  sizes.exprs[0] = span ? hlo_build_convert(b, span, HR_S32) : NULL;
  expr_t steps = tf_iota_sized(b, limit->shape->dtype, &sizes, 0);
  if (!steps) return hlo_builder_finish(b);
  steps = f_mul(b, steps, f_number(b, (double)step, steps));
  return tf_out(op, 0, steps ? f_add(b, steps, f_number(b, (double)start, steps)) : NULL);
}

/* Range: ceil((limit - start) / delta) elements start + i delta. Inputs: start, limit, delta; their
 * values are needed for the size. */
hr_status_t tf_lower_range(tf_op_t *op) {
  hlo_value_t *values[3];
  double numbers[3];
  HR_TRY(tf_const_if_known(op, 1, &values[1]));
  if (!values[1] && hr_dtype_is_integer(tf_in_dtype(op, 1))) return range_at_run_time(op);
  for (int k = 0; k < 3; k++) {
    HR_TRY(tf_const(op, k, &values[k]));
    value_number(values[k], &numbers[k]);
  }
  double span = (numbers[1] - numbers[0]) / numbers[2];
  if (!(span > -1e15 && span < 1e15)) return tf_error(op, "a range without end");
  int64_t count = span > 0 ? (int64_t)__builtin_ceil(span) : 0;
  hr_dtype_t dtype = values[0]->dtype;
  expr_t steps = tf_iota(op->b, dtype, 1, &count, 0);
  expr_t delta = tf_broadcast(op->b, tf_in(op, 2), 1, &count);
  expr_t start = tf_broadcast(op->b, tf_in(op, 0), 1, &count);
  return tf_out(op, 0, f_add(op->b, start, f_mul(op->b, steps, delta)));
}

/* start + step i, and the end itself at the last place. */
static hr_status_t space_at_run_time(tf_op_t *op, int64_t count) {
  hlo_builder_t *b = op->b;
  expr_t start = tf_in(op, 0), stop = tf_in(op, 1);
  if (!start || !stop) return hlo_builder_finish(b);
  expr_t step = f_div(b, f_sub(b, stop, start), f_number(b, count > 1 ? count - 1 : 1, start));
  start = tf_broadcast(b, start, 1, &count);
  stop = tf_broadcast(b, stop, 1, &count);
  step = tf_broadcast(b, step, 1, &count);
  expr_t place = start ? tf_iota(b, start->shape->dtype, 1, &count, 0) : NULL;
  if (!place) return hlo_builder_finish(b);
  expr_t numbers = f_add(b, start, f_mul(b, step, place));
  expr_t is_last = f_eq(b, place, f_number(b, (double)(count - 1), place));
  return tf_out(op, 0, count > 1 ? f_select(b, is_last, stop, numbers) : numbers);
}

/* LinSpace(start, stop, num): computed in double; the last element is exactly `stop`. */
hr_status_t tf_lower_lin_space(tf_op_t *op) {
  double start, stop;
  int64_t count;
  hlo_value_t *value, *known_start, *known_stop;
  HR_TRY(tf_const_int(op, 2, &count));
  if (count < 1) return tf_error(op, "%ld steps", (long)count);
  HR_TRY(tf_const_if_known(op, 0, &known_start));
  HR_TRY(tf_const_if_known(op, 1, &known_stop));
  hr_dtype_t type = tf_in_dtype(op, 0);
  if (!known_start || !known_stop || (type != HR_F32 && type != HR_F64))
    return space_at_run_time(op, count);
  HR_TRY(tf_const_float(op, 0, &start));
  HR_TRY(tf_const_float(op, 1, &stop));
  hr_dtype_t dtype = tf_in_dtype(op, 0);
  HR_TRY(hlo_builder_finish(op->b));
  HR_TRY(hlo_value_array(dtype, 1, &count, &value));
  double step = count > 1 ? (stop - start) / (double)(count - 1) : 0;
  for (int64_t i = 0; i < count; i++) {
    double number = i + 1 == count && count > 1 ? stop : start + step * (double)i;
    if (dtype == HR_F64)
      ((double *)value->data)[i] = number;
    else
      ((float *)value->data)[i] = (float)number;
  }
  return tf_out_value(op, 0, value);
}

/* OneHot: on_value where the index equals the place along the new dimension `axis`. Inputs:
 * indices, depth, on_value, off_value. */
hr_status_t tf_lower_one_hot(tf_op_t *op) {
  int64_t depth, axis, dims[HLO_MAX_RANK];
  int at;
  expr_t indices = tf_in(op, 0), wide;
  if (!indices) return hlo_builder_finish(op->b);
  int rank = indices->shape->rank + 1;
  HR_TRY(tf_const_int(op, 1, &depth));
  HR_TRY(tf_attr_int(op->arena, op->node, "axis", -1, &axis));
  HR_TRY(tf_expand_dim(op, indices, axis, &at, &wide));
  if (!wide) return hlo_builder_finish(op->b);
  for (int d = 0; d < rank; d++) dims[d] = d == at ? depth : wide->shape->dims[d];
  expr_t wanted = tf_broadcast(op->b, wide, rank, dims);
  expr_t hit = f_eq(op->b, wanted, tf_iota_like(op->b, indices->shape->dtype, wanted, at));
  return tf_out(op, 0,
                f_select(op->b, hit, tf_broadcast_like(op->b, tf_in(op, 2), wanted),
                         tf_broadcast_like(op->b, tf_in(op, 3), wanted)));
}
