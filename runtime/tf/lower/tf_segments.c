/* Sums, products and extremes of the rows of each segment. */
#include "tf/compile/tf_lower.h"

/* The start value of segments without elements: as tf_identity_value, but finite for floats. */
static expr_t start_value(hlo_builder_t *b, hlo_opcode_t scalar_op, hr_dtype_t dtype) {
  bool is_extreme = scalar_op == HLO_MAXIMUM || scalar_op == HLO_MINIMUM;
  if (!is_extreme || !hr_dtype_is_float(dtype)) return tf_identity_value(b, scalar_op, dtype);
  double largest = hr_float_decode(dtype, hr_float_largest(dtype));
  return tf_scalar(b, scalar_op == HLO_MAXIMUM ? -largest : largest, dtype);
}

/* result[ids[i..]] combines data[i..] and `start`; `sizes` has the number of segments. Ids have the
 * leading dimensions of the data. */
static hr_status_t combine_rows(tf_op_t *op, hlo_opcode_t combine, expr_t x, expr_t ids,
                                expr_t start, tf_sizes_t sizes, expr_t *out_x) {
  hlo_builder_t *b = op->b;
  int64_t wide[HLO_MAX_RANK];
  if (!x || !ids || !start) return hlo_builder_finish(b);
  if (ids->shape->rank > x->shape->rank || ids->shape->rank >= HLO_MAX_RANK)
    return tf_error(op, "segment ids of %d dimensions", ids->shape->rank);
  tf_sizes_t all = tf_sizes_of(b, x);
  for (int d = ids->shape->rank; d < all.rank; d++) {
    sizes.exprs[sizes.rank] = all.exprs[d];
    sizes.dims[sizes.rank++] = all.dims[d];
  }
  start = tf_broadcast_sized(b, start, &sizes);
  for (int d = 0; d < ids->shape->rank; d++) wide[d] = ids->shape->dims[d];
  wide[ids->shape->rank] = 1;
  ids = tf_reshape(b, ids, ids->shape->rank + 1, wide);
  return tf_scatter_nd(op, start, ids, x, combine, out_x);
}

/* UnsortedSegmentSum, Prod, Max and Min. A segment without elements keeps the start value: 0, 1, or
 * the extreme number. Inputs: data, segment ids, number of segments. */
hr_status_t tf_lower_unsorted_segment(tf_op_t *op) {
  hlo_opcode_t combine = (hlo_opcode_t)op->row->variant;
  tf_sizes_t sizes;
  expr_t result = NULL, x = tf_in(op, 0);
  HR_TRY(tf_sizes_in(op, 2, &sizes));
  if (!x) return hlo_builder_finish(op->b);
  if (sizes.rank != 1 || sizes.dims[0] < 0) return tf_error(op, "no number of segments");
  expr_t start = start_value(op->b, combine, x->shape->dtype);
  HR_TRY(combine_rows(op, combine, x, tf_in(op, 1), start, sizes, &result));
  return tf_out(op, 0, result);
}

/* The last id says how many segments there are, so that the ids must be constants. */
static hr_status_t count_segments(tf_op_t *op, int64_t *out_count) {
  hlo_value_t *known;
  hr_ints_t ids;
  *out_count = 0;
  HR_TRY(tf_const_if_known(op, 1, &known));
  if (!known)
    return tf_unsupported(op,
                          "segment ids that are not known at compile time, which say how many "
                          "segments there are: want an unsorted_segment operation, or one "
                          "with num_segments");
  HR_TRY(tf_const_ints(op, 1, &ids));
  if (known->rank != 1) return tf_error(op, "segment ids of %d dimensions, want 1", known->rank);
  for (int64_t i = 0; i < ids.count; i++) {
    if (ids.data[i] < 0 || ids.data[i] < *out_count - 1)
      return tf_error(op, "segment id %ld follows %ld, want ids that do not decrease",
                      (long)ids.data[i], (long)*out_count - 1);
    if (ids.data[i] >= INT32_MAX) return tf_error(op, "segment id %ld", (long)ids.data[i]);
    *out_count = ids.data[i] + 1;
  }
  return NULL;
}

/* Elements of each segment, s32 of the result's sizes. */
static hr_status_t segment_lengths(tf_op_t *op, expr_t ids, tf_sizes_t sizes, expr_t result,
                                   expr_t *out_lengths) {
  hlo_builder_t *b = op->b;
  int64_t first = 0;
  if (!ids || !result) return hlo_builder_finish(b);
  expr_t ones = tf_fill(b, 1, HR_S32, 1, ids->shape->dims), lengths = NULL;
  HR_TRY(combine_rows(op, HLO_ADD, ones, ids, tf_scalar_int(b, 0, HR_S32), sizes, &lengths));
  tf_sizes_t wide = tf_sizes_of(b, result);
  *out_lengths = tf_broadcast_in_sized(b, lengths, &wide, (hr_ints_t){.data = &first, .count = 1});
  return hlo_builder_finish(b);
}

/* SegmentSum, Prod, Max, Min and Mean (variant HLO_DIVIDE): data, ids. A segment without elements
 * is 1 for Prod and 0 for the others. */
hr_status_t tf_lower_segment(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hlo_opcode_t combine = (hlo_opcode_t)op->row->variant;
  bool is_mean = combine == HLO_DIVIDE;
  expr_t x = tf_in(op, 0), ids = tf_in(op, 1), result = NULL, lengths = NULL;
  int64_t count;
  HR_TRY(count_segments(op, &count));
  if (!x || !ids) return hlo_builder_finish(b);
  if (!x->shape->rank || x->shape->dims[0] != ids->shape->dims[0])
    return tf_error(op, "%ld segment ids do not fit the data", (long)ids->shape->dims[0]);
  if (is_mean) combine = HLO_ADD;
  tf_sizes_t sizes = tf_sizes_static(1, &count);
  expr_t start = start_value(b, combine, x->shape->dtype);
  HR_TRY(combine_rows(op, combine, x, ids, start, sizes, &result));
  if (combine == HLO_MULTIPLY || (combine == HLO_ADD && !is_mean)) return tf_out(op, 0, result);
  HR_TRY(segment_lengths(op, ids, sizes, result, &lengths));
  expr_t some = f_gt(b, lengths, f_number(b, 0, lengths));
  if (is_mean) {
    expr_t divisor = f_max(b, lengths, f_number(b, 1, lengths));
    result = f_div(b, result, hlo_build_convert(b, divisor, x->shape->dtype));
  }
  return tf_out(op, 0, f_select(b, some, result, f_number(b, 0, result)));
}
