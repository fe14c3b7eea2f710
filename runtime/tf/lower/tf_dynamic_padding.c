/* Windows with SAME padding and strides along dimensions whose size n depends on data. The padding
 * in front follows from n, so that no constant one will do:
 *
 *   results = ceil(n / stride)
 *   low = max((results - 1) stride + reach - n, 0) / 2, with reach = (window - 1) dilation + 1
 *
 * The array, filled up to its bound, is moved by `low` into one of a constant length, over which
 * the windows have no padding. Source: XLA computes the same padding (GetWindowedOutputSize). */
#include "base/arith.h"
#include "tf/lower/tf_window.h"

hr_status_t tf_placement_begin(tf_op_t *op, const tf_sizes_t *sizes, tf_placement_t *out) {
  hr_str_t padding;
  HR_TRY(tf_attr_str(op->arena, op->node, "padding", "VALID", &padding));
  *out = (tf_placement_t){.sizes = *sizes, .is_same = hr_str_is(padding, "SAME")};
  return NULL;
}

void tf_place_window(hlo_builder_t *b, tf_placement_t *p, int d, hlo_window_dim_t *window) {
  expr_t size = p->sizes.exprs[d];
  if (!p->is_same || !size || window->stride == 1) return;
  int64_t reach = (window->size - 1) * window->window_dilation + 1, bound = p->sizes.dims[d];
  expr_t stride = tf_scalar_int(b, window->stride, HR_S32), one = tf_scalar_int(b, 1, HR_S32);
  expr_t last = f_div(b, f_sub(b, size, one), stride);
  expr_t end = f_add(b, f_mul(b, last, stride), tf_scalar_int(b, reach, HR_S32));
  expr_t total = f_max(b, f_sub(b, end, size), tf_scalar_int(b, 0, HR_S32));
  p->has_moved = true;
  p->low[d] = f_div(b, total, tf_scalar_int(b, 2, HR_S32));
  p->low_bound[d] = (reach - 1) / 2;
  p->results[d] = f_div(b, f_add(b, size, tf_scalar_int(b, window->stride - 1, HR_S32)), stride);
  p->length[d] = (bound + window->stride - 1) / window->stride * window->stride;
  p->length[d] += reach - window->stride;
  window->pad_low = 0;
  window->pad_high = 0;
}

/* The part of a static array that begins at `starts`, counted from `low` elements in front of it.
 * The array is padded as far as the largest starts, p->low_bound, reach. */
static expr_t cut_part(hlo_builder_t *b, const tf_placement_t *p, expr_t x, expr_t fill,
                       const int64_t *low, expr_t const *starts, const int64_t *lengths) {
  int64_t high[HLO_MAX_RANK];
  for (int d = 0; x && d < p->sizes.rank; d++)
    high[d] = hr_max(p->low_bound[d] + lengths[d] - low[d] - x->shape->dims[d], 0);
  expr_t wide = tf_pad(b, x, fill, low, high, NULL);
  return wide ? tf_dynamic_slice(b, wide, starts, lengths) : NULL;
}

expr_t tf_place(hlo_builder_t *b, const tf_placement_t *p, expr_t x, expr_t fill) {
  expr_t starts[HLO_MAX_RANK];
  int64_t lengths[HLO_MAX_RANK];
  if (!p->has_moved || !fill) return x;
  for (int d = 0; d < p->sizes.rank; d++) {
    expr_t bound = tf_scalar_int(b, p->low_bound[d], HR_S32);
    starts[d] = p->low[d] ? f_sub(b, bound, p->low[d]) : bound;
    lengths[d] = p->low[d] ? p->length[d] : p->sizes.dims[d];
  }
  return cut_part(b, p, tf_fill_all(b, x, fill), fill, p->low_bound, starts, lengths);
}

expr_t tf_place_back(hlo_builder_t *b, const tf_placement_t *p, expr_t x) {
  expr_t starts[HLO_MAX_RANK], zero = tf_scalar_int(b, 0, HR_S32);
  int64_t low[HLO_MAX_RANK] = {0};
  if (!p->has_moved || !x) return x;
  for (int d = 0; d < p->sizes.rank; d++) starts[d] = p->low[d] ? p->low[d] : zero;
  return cut_part(b, p, x, tf_scalar(b, 0, x->shape->dtype), low, starts, p->sizes.dims);
}

expr_t tf_place_results(hlo_builder_t *b, const tf_placement_t *p, expr_t y) {
  for (int d = 0; y && p->has_moved && d < p->sizes.rank; d++) {
    expr_t size = p->low[d] ? p->results[d] : p->sizes.exprs[d];
    if (size) y = tf_set_size(b, y, d, size);
  }
  return y;
}
