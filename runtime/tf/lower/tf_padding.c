/* Padding with a number or with mirrored edges, and its gradient. */
#include "base/arith.h"
#include "tf/compile/tf_lower.h"

/* --- paddings that depend on data --- */

/* One padded dimension: its paddings, and the sizes with and without them. */
typedef struct padded_dim {
  int64_t low_bound; /* largest padding in front */
  expr_t start;      /* low_bound less the padding in front */
  int64_t bound;     /* size of the result, or its largest value */
  expr_t size;       /* the size, known at run time; NULL: `bound` */
} padded_dim_t;

/* An integer scalar as its only or its largest value. Errors: INVALID if there is no bound. */
static hr_status_t bound_of(tf_op_t *op, expr_t number, int64_t *out_bound, bool *out_only) {
  *out_only = tf_only_number(op->scope->compiler, number, out_bound);
  if (!*out_only) *out_bound = tf_upper_bound(op->scope->compiler, number);
  return *out_bound < 0 ? tf_error(op, "input 1 must be a compile-time constant") : NULL;
}

/* Padding of dimension d that depends on data: bounds of the padding in front and of the result,
 * and where the array starts in them. */
static hr_status_t measure(tf_op_t *op, expr_t x, expr_t paddings, int d, padded_dim_t *out) {
  hlo_builder_t *b = op->b;
  bool is_static;
  expr_t low = hlo_build_convert(b, tf_vector_element(b, paddings, 2 * d), HR_S32);
  expr_t high = hlo_build_convert(b, tf_vector_element(b, paddings, 2 * d + 1), HR_S32);
  if (!low || !high) return hlo_builder_finish(b);
  expr_t size = f_add(b, f_add(b, high, tf_size_of(b, x, d)), low);
  HR_TRY(bound_of(op, low, &out->low_bound, &is_static));
  out->start = f_sub(b, tf_scalar_int(b, out->low_bound, HR_S32), low);
  HR_TRY(bound_of(op, size, &out->bound, &is_static));
  out->size = is_static ? NULL : size;
  return hlo_builder_finish(b);
}

/* x is filled up to its bounds and padded by the largest paddings; the result is cut out of that:
 *
 *   x = {1, 2, -}, paddings {{low <= 3, 1}}, low = 1:   {0 0 [0 1 2 0] 0} */
static hr_status_t pad_by_data(tf_op_t *op, expr_t x, expr_t fill) {
  hlo_builder_t *b = op->b;
  expr_t paddings = tf_in(op, 1), starts[HLO_MAX_RANK];
  padded_dim_t dims[HLO_MAX_RANK];
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  int rank = x->shape->rank;
  if (!paddings || !fill) return hlo_builder_finish(b);
  if (hlo_shape_elements(paddings->shape) != 2 * rank)
    return tf_error(op, "%ld paddings", (long)hlo_shape_elements(paddings->shape));
  for (int d = 0; d < rank; d++) {
    HR_TRY(measure(op, x, paddings, d, &dims[d]));
    starts[d] = dims[d].start;
    sizes[d] = dims[d].bound;
    low[d] = dims[d].low_bound;
    high[d] = hr_max(sizes[d] - x->shape->dims[d], 0);
  }
  expr_t wide = tf_pad(b, tf_fill_all(b, x, fill), fill, low, high, NULL);
  expr_t result = wide ? tf_dynamic_slice(b, wide, starts, sizes) : NULL;
  for (int d = 0; d < rank && result; d++)
    if (dims[d].size) result = tf_set_size(b, result, d, dims[d].size);
  return tf_out(op, 0, result);
}

/* --- constant paddings --- */

/* Input 1 is [rank, 2]: elements before and after each dimension. */
static hr_status_t read_paddings(tf_op_t *op, int rank, int64_t *low, int64_t *high) {
  hr_ints_t paddings;
  HR_TRY(tf_const_ints(op, 1, &paddings));
  if (paddings.count != 2 * rank) return tf_error(op, "%ld paddings", (long)paddings.count);
  for (int d = 0; d < rank; d++) {
    low[d] = paddings.data[2 * d];
    high[d] = paddings.data[2 * d + 1];
  }
  return NULL;
}

/* Pad fills with 0; PadV2 (variant 1) with input 2. */
hr_status_t tf_lower_pad(tf_op_t *op) {
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK];
  hlo_value_t *known;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  expr_t fill = op->row->variant ? tf_in(op, 2) : tf_scalar(op->b, 0, x->shape->dtype);
  HR_TRY(tf_const_if_known(op, 1, &known));
  if (!known) return pad_by_data(op, x, fill);
  HR_TRY(read_paddings(op, x->shape->rank, low, high));
  return tf_out(op, 0, tf_pad(op->b, x, fill, low, high, NULL));
}

/* Mirrored edges: REFLECT leaves the edge itself out (*out_skip is 1), SYMMETRIC repeats it. */
static hr_status_t read_mirror(tf_op_t *op, int rank, int64_t *low, int64_t *high,
                               int64_t *out_skip) {
  hr_str_t mode;
  HR_TRY(tf_attr_str(op->arena, op->node, "mode", "REFLECT", &mode));
  *out_skip = hr_str_is(mode, "REFLECT") ? 1 : 0;
  return read_paddings(op, rank, low, high);
}

/* One dimension after another: parts of the reversed array before and after it. REFLECT skips
 * the edge itself. */
hr_status_t tf_lower_mirror_pad(tf_op_t *op) {
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK], skip;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(read_mirror(op, x->shape->rank, low, high, &skip));
  for (int64_t d = 0; d < x->shape->rank; d++) {
    int64_t size = x->shape->dims[d];
    expr_t parts[3], mirrored;
    int count = 0;
    if (low[d] + skip > size || high[d] + skip > size)
      return tf_error(op, "padding beyond the array");
    HR_TRY(tf_reverse(op, x, 1, &d, &mirrored));
    if (low[d])
      parts[count++] = tf_slice_dim(op->b, mirrored, (int)d, size - skip - low[d], size - skip);
    parts[count++] = x;
    if (high[d]) parts[count++] = tf_slice_dim(op->b, mirrored, (int)d, skip, skip + high[d]);
    x = tf_concat(op->b, count, parts, (int)d);
    if (!x) return hlo_builder_finish(op->b);
  }
  return tf_out(op, 0, x);
}

/* Gradient of a mirrored edge: the edges are reversed and added to the elements that they
 * mirror. */
hr_status_t tf_lower_mirror_pad_grad(tf_op_t *op) {
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK], skip;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(read_mirror(op, x->shape->rank, low, high, &skip));
  for (int64_t d = 0; d < x->shape->rank; d++) {
    int64_t total = x->shape->dims[d], size = total - low[d] - high[d];
    if (low[d] < 0 || high[d] < 0 || low[d] + skip > size || high[d] + skip > size)
      return tf_error(op, "padding beyond the array");
    expr_t sum = tf_slice_dim(op->b, x, (int)d, low[d], low[d] + size);
    for (int side = 0; side < 2; side++) {
      int64_t before[HLO_MAX_RANK] = {0}, after[HLO_MAX_RANK] = {0};
      int64_t width = side ? high[d] : low[d];
      int64_t start = side ? total - width : 0;
      expr_t edge = tf_slice_dim(op->b, x, (int)d, start, start + width);
      if (!width || !edge) continue;
      HR_TRY(tf_reverse(op, edge, 1, &d, &edge));
      before[d] = side ? size - skip - width : skip;
      after[d] = size - width - before[d];
      edge = tf_pad(op->b, edge, tf_scalar(op->b, 0, x->shape->dtype), before, after, NULL);
      sum = f_add(op->b, sum, edge);
    }
    x = sum;
    if (!x) return hlo_builder_finish(op->b);
  }
  return tf_out(op, 0, x);
}
