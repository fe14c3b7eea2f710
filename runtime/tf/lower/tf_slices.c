/* Slices, strided slices and their updates. */
#include "tf/compile/tf_lower.h"

/* --- slices --- */

/* A slice of a dynamic array, or of a size that has a bound only. */
static hr_status_t slice_of_data(tf_op_t *op, expr_t x) {
  hlo_builder_t *b = op->b;
  expr_t begin = tf_in(op, 1);
  tf_sizes_t sizes, starts, limits, steps = {.rank = x->shape->rank};
  HR_TRY(tf_sizes_in(op, 2, &sizes));
  if (!begin) return hlo_builder_finish(b);
  if (sizes.rank != steps.rank || begin->shape->rank != 1 || begin->shape->dims[0] != steps.rank)
    return tf_error(op, "starts or sizes do not fit");
  starts = limits = steps;
  for (int d = 0; d < steps.rank; d++) {
    expr_t start = tf_vector_element(b, begin, d), whole = tf_size_of(b, x, d);
    bool to_end = sizes.dims[d] < 0;
    starts.exprs[d] = hlo_build_convert(b, start, HR_S32);
    if (to_end) sizes.dims[d] = x->shape->dims[d];
    if (to_end) sizes.exprs[d] = f_sub(b, whole, starts.exprs[d]);
    expr_t count = sizes.exprs[d] ? sizes.exprs[d] : tf_scalar_int(b, sizes.dims[d], HR_S32);
    limits.exprs[d] = f_add(b, starts.exprs[d], count);
    steps.dims[d] = 1;
    hlo_value_t *known;
    if (count) HR_TRY(tf_evaluate(op->scope->compiler, count, &known));
    if (!count || !known) continue;
    sizes.dims[d] = hlo_value_int_at(known, 0);
    sizes.exprs[d] = NULL;
  }
  HR_TRY(hlo_builder_finish(b));
  return tf_out(op, 0, tf_slice_sized(b, x, &sizes, &starts, &limits, &steps));
}

/* Slice(input, begin, size): size -1 means up to the end. A start that is known at run time only
 * makes a dynamic slice, where -1 means the whole dimension. */
hr_status_t tf_lower_slice(tf_op_t *op) {
  hr_ints_t begin, size;
  hlo_value_t *known;
  int64_t limits[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  expr_t starts[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_if_known(op, 2, &known));
  if (!known || hlo_shape_is_dynamic(x->shape)) return slice_of_data(op, x);
  HR_TRY(tf_const_ints(op, 2, &size));
  HR_TRY(tf_const_if_known(op, 1, &known));
  if (size.count != x->shape->rank) return tf_error(op, "%ld sizes", (long)size.count);
  if (known) HR_TRY(tf_const_ints(op, 1, &begin));
  if (known && begin.count != size.count) return tf_error(op, "%ld starts", (long)begin.count);
  for (int d = 0; d < x->shape->rank; d++) {
    int64_t rest = x->shape->dims[d] - (known ? begin.data[d] : 0);
    sizes[d] = size.data[d] < 0 ? rest : size.data[d];
    if (known) limits[d] = begin.data[d] + sizes[d];
  }
  if (known) return tf_out(op, 0, tf_slice(op->b, x, begin.data, limits, NULL));
  for (int d = 0; d < x->shape->rank; d++)
    starts[d] = tf_reshape(op->b, tf_slice_dim(op->b, tf_in(op, 1), 0, d, d + 1), 0, NULL);
  return tf_out(op, 0, tf_dynamic_slice(op->b, x, starts, sizes));
}

/* One dimension of a strided slice. */
typedef struct strided_dim {
  int64_t begin;       /* first element, counted from 0 */
  int64_t stride;      /* never 0; negative: backwards */
  int64_t count;       /* elements */
  expr_t moving;       /* `begin` of the one element, known at run time; NULL: it is above */
  expr_t start, limit; /* ends of a part of a dynamic dimension; NULL: static */
} strided_dim_t;

/* `dims` has one entry per dimension of x; `result` also has the new axes and lacks the shrunk
 * ones. */
typedef struct strided {
  int rank;
  strided_dim_t dims[HLO_MAX_RANK];
  int result_rank;
  int64_t result[HLO_MAX_RANK]; /* sizes after new and dropped axes */
} strided_t;

/* Python's rules: bounds are counted from the end if negative, then clamped to the array. A
 * backward slice may end at -1, before the first element. The count is ceil(span / |stride|). */
static strided_dim_t resolve_dim(int64_t size, int64_t begin, int64_t end, int64_t stride,
                                 bool no_begin, bool no_end) {
  int64_t low = stride > 0 ? 0 : -1;
  int64_t high = stride > 0 ? size : size - 1;
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  if (begin < low) begin = low;
  if (begin > high) begin = high;
  if (end < low) end = low;
  if (end > high) end = high;
  if (no_begin) begin = stride > 0 ? 0 : size - 1;
  if (no_end) end = stride > 0 ? size : -1;
  int64_t span = stride > 0 ? end - begin : begin - end;
  int64_t step = stride > 0 ? stride : -stride;
  return (strided_dim_t){begin, stride, span > 0 ? (span + step - 1) / step : 0, NULL, NULL, NULL};
}

/* Bit masks of the attributes, one bit per entry of begin, end and strides. */
typedef struct strided_masks {
  int64_t begin, end, ellipsis, new_axis, shrink;
} strided_masks_t;

/* begin_mask and end_mask: the bound is ignored. ellipsis_mask: "...". new_axis_mask: a size of
 * 1. shrink_axis_mask: one element, without its dimension. */
static hr_status_t read_masks(tf_op_t *op, strided_masks_t *m) {
  HR_TRY(tf_attr_int(op->arena, op->node, "begin_mask", 0, &m->begin));
  HR_TRY(tf_attr_int(op->arena, op->node, "end_mask", 0, &m->end));
  HR_TRY(tf_attr_int(op->arena, op->node, "ellipsis_mask", 0, &m->ellipsis));
  HR_TRY(tf_attr_int(op->arena, op->node, "new_axis_mask", 0, &m->new_axis));
  return tf_attr_int(op->arena, op->node, "shrink_axis_mask", 0, &m->shrink);
}

/* A dimension taken whole. */
static void keep_dim(strided_t *s, int64_t size) {
  s->dims[s->rank++] = (strided_dim_t){0, 1, size, NULL, NULL, NULL};
  s->result[s->result_rank++] = size;
}

/* Bounds of the specification, by entry. */
typedef struct strided_bounds {
  int64_t count, begin[HLO_MAX_RANK], end[HLO_MAX_RANK];
  expr_t moving[HLO_MAX_RANK]; /* `begin` that is known at run time */
} strided_bounds_t;

/* Entries of input k. Entries that are not constants go to `moving`; only a single element
 * (shrink_axis_mask), or nothing at all, may depend on them. */
static hr_status_t read_bound(tf_op_t *op, int k, int64_t free, int64_t count, int64_t *out,
                              expr_t *moving) {
  hlo_value_t *known;
  expr_t x = tf_in(op, k);
  if (!x) return hlo_builder_finish(op->b);
  if (x->shape->rank != 1 || x->shape->dims[0] != count || count > HLO_MAX_RANK)
    return tf_error(op, "begin, end and strides have different sizes");
  for (int64_t i = 0; i < count; i++) {
    expr_t element = tf_vector_element(op->b, x, i);
    if (!element) return hlo_builder_finish(op->b);
    HR_TRY(tf_evaluate(op->scope->compiler, element, &known));
    if (!known && !(free >> i & 1))
      return tf_error(op, "input %d must be a compile-time constant", k);
    out[i] = known ? hlo_value_int_at(known, 0) : 0;
    moving[i] = known ? NULL : element;
  }
  return NULL;
}

static hr_status_t read_bounds(tf_op_t *op, int first, const strided_masks_t *m, int64_t count,
                               strided_bounds_t *out) {
  expr_t ends[HLO_MAX_RANK];
  out->count = count;
  HR_TRY(read_bound(op, first, m->shrink | m->begin, count, out->begin, out->moving));
  return read_bound(op, first + 1, m->shrink | m->end, count, out->end, ends);
}

/* The one element of a dimension that is dropped. */
static hr_status_t single_element(tf_op_t *op, const strided_bounds_t *bounds, int64_t i,
                                  int64_t size, strided_dim_t *out) {
  int64_t at = bounds->begin[i] < 0 ? bounds->begin[i] + size : bounds->begin[i];
  *out = (strided_dim_t){at, 1, 1, NULL, NULL, NULL};
  if (bounds->moving[i]) {
    expr_t index = bounds->moving[i];
    expr_t from_end = f_add(op->b, index, f_number(op->b, (double)size, index));
    expr_t is_negative = f_lt(op->b, index, f_number(op->b, 0, index));
    out->moving = f_select(op->b, is_negative, from_end, index);
    return hlo_builder_finish(op->b);
  }
  if (at >= 0 && at < size) return NULL;
  return tf_error(op, "index %ld of %ld elements", (long)bounds->begin[i], (long)size);
}

/* A bound that counts from the end of a dynamic dimension if it is negative. */
static expr_t dynamic_bound(hlo_builder_t *b, int64_t bound, expr_t size) {
  expr_t number = tf_scalar_int(b, bound, HR_S32);
  expr_t zero = tf_scalar_int(b, 0, HR_S32);
  return bound < 0 ? f_max(b, f_add(b, size, number), zero) : f_min(b, number, size);
}

/* A slice of the dynamic dimension d of x, unless it takes all of it, by entry i of the
 * specification; `dim` is the slice for the bound. */
static hr_status_t resolve_dynamic(tf_op_t *op, expr_t x, int d, const strided_bounds_t *bounds,
                                   int64_t i, const strided_masks_t *m, strided_dim_t *dim) {
  hlo_builder_t *b = op->b;
  bool no_begin = m->begin >> i & 1, no_end = m->end >> i & 1;
  expr_t size = tf_size_of(b, x, d);
  int64_t begin = no_begin ? 0 : bounds->begin[i], end = bounds->end[i];
  if (m->shrink >> i & 1) {
    if (bounds->moving[i] || begin >= 0) return hlo_builder_finish(b);
    dim->begin = 0;
    dim->moving = dynamic_bound(b, begin, size);
    return hlo_builder_finish(b);
  }
  if (begin == 0 && no_end && dim->stride == 1) return NULL;
  if (dim->stride != 1) return tf_unsupported(op, "strides in a dimension whose size is dynamic");
  if (begin < 0 && !no_end && end >= 0) dim->count = x->shape->dims[d];
  dim->start = dynamic_bound(b, begin, size);
  dim->limit = no_end ? size : dynamic_bound(b, end, size);
  dim->limit = f_max(b, dim->limit, dim->start);
  return hlo_builder_finish(b);
}

/* Walks the entries of the specification; an ellipsis stands for all dimensions that are left. `x`
 * is the array; NULL: its sizes are static. */
static hr_status_t resolve_strided(tf_op_t *op, int first, expr_t x, int rank, const int64_t *sizes,
                                   strided_t *out) {
  strided_bounds_t bounds;
  hr_ints_t strides;
  strided_masks_t m;
  int specified = 0;
  *out = (strided_t){0};
  HR_TRY(tf_const_ints(op, first + 2, &strides));
  HR_TRY(read_masks(op, &m));
  HR_TRY(read_bounds(op, first, &m, strides.count, &bounds));
  if (rank + bounds.count > HLO_MAX_RANK)
    return tf_error(op, "begin, end and strides are too long");
  for (int64_t i = 0; i < bounds.count; i++)
    specified += !(m.ellipsis >> i & 1) && !(m.new_axis >> i & 1);
  for (int64_t i = 0; i < bounds.count; i++) {
    if (m.ellipsis >> i & 1) {
      for (int fill = rank - specified; fill > 0; fill--) keep_dim(out, sizes[out->rank]);
      continue;
    }
    if (m.new_axis >> i & 1) {
      out->result[out->result_rank++] = 1;
      continue;
    }
    if (out->rank >= rank || !strides.data[i]) return tf_error(op, "the slice does not fit");
    int64_t size = sizes[out->rank];
    bool shrink = m.shrink >> i & 1;
    strided_dim_t dim = resolve_dim(size, bounds.begin[i], bounds.end[i], strides.data[i],
                                    m.begin >> i & 1, m.end >> i & 1);
    if (shrink) HR_TRY(single_element(op, &bounds, i, size, &dim));
    if (x && x->shape->dynamic && x->shape->dynamic[out->rank])
      HR_TRY(resolve_dynamic(op, x, out->rank, &bounds, i, &m, &dim));
    out->dims[out->rank++] = dim;
    if (!shrink) out->result[out->result_rank++] = dim.count;
  }
  while (out->rank < rank) keep_dim(out, sizes[out->rank]);
  return NULL;
}

/* Whether a dimension's element is known at run time only. */
static bool moves(const strided_t *s) {
  for (int d = 0; d < s->rank; d++)
    if (s->dims[d].moving) return true;
  return false;
}

/* Starts of the elements that move, 0 in other dimensions. */
static void moving_starts(hlo_builder_t *b, const strided_t *s, expr_t *out_starts) {
  for (int d = 0; d < s->rank; d++) {
    expr_t at = s->dims[d].moving;
    out_starts[d] = at ? hlo_build_convert(b, at, HR_S32) : tf_scalar_int(b, 0, HR_S32);
  }
}

/* Sizes of the array once each dimension that moves has its one element only. */
static void still_sizes(const strided_t *s, const int64_t *sizes, int64_t *out_sizes) {
  for (int d = 0; d < s->rank; d++) out_sizes[d] = s->dims[d].moving ? 1 : sizes[d];
}

/* x with a single element of each dimension that moves. */
static expr_t take_moving(hlo_builder_t *b, const strided_t *s, expr_t x) {
  int64_t sizes[HLO_MAX_RANK];
  expr_t starts[HLO_MAX_RANK];
  if (!moves(s)) return x;
  moving_starts(b, s, starts);
  still_sizes(s, x->shape->dims, sizes);
  return tf_dynamic_slice(b, x, starts, sizes);
}

/* x with its dynamic dimensions cut already; `s` then takes all of these. */
static expr_t take_dynamic(hlo_builder_t *b, strided_t *s, expr_t x) {
  tf_sizes_t sizes = tf_sizes_of(b, x), starts = {.rank = s->rank}, limits = sizes, steps = starts;
  bool any = false;
  for (int d = 0; d < s->rank; d++) {
    strided_dim_t *dim = &s->dims[d];
    steps.dims[d] = 1;
    if (!dim->start) continue;
    any = true;
    starts.exprs[d] = dim->start;
    limits.exprs[d] = dim->limit;
    sizes.dims[d] = dim->count;
    sizes.exprs[d] = dim->limit;
    *dim = (strided_dim_t){0, 1, dim->count, NULL, NULL, NULL};
  }
  return any ? tf_slice_sized(b, x, &sizes, &starts, &limits, &steps) : x;
}

/* StridedSlice(input, begin, end, strides). Backward dimensions are reversed first, so that all
 * strides are positive. Element 0 of a reversed dimension was its last one. */
hr_status_t tf_lower_strided_slice(tf_op_t *op) {
  strided_t s;
  int64_t reversed[HLO_MAX_RANK], starts[HLO_MAX_RANK], limits[HLO_MAX_RANK], steps[HLO_MAX_RANK];
  int count = 0;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(resolve_strided(op, 1, x, x->shape->rank, x->shape->dims, &s));
  x = take_moving(op->b, &s, take_dynamic(op->b, &s, x));
  if (!x) return hlo_builder_finish(op->b);
  for (int d = 0; d < s.rank; d++) {
    strided_dim_t dim = s.dims[d];
    bool backward = dim.stride < 0;
    if (backward) reversed[count++] = d;
    starts[d] = backward ? x->shape->dims[d] - 1 - dim.begin : dim.begin;
    steps[d] = backward ? -dim.stride : dim.stride;
    limits[d] = dim.count ? starts[d] + (dim.count - 1) * steps[d] + 1 : starts[d];
  }
  HR_TRY(tf_reverse(op, x, count, reversed, &x));
  x = tf_slice(op->b, x, starts, limits, steps);
  return tf_out(op, 0, tf_reshape(op->b, x, s.result_rank, s.result));
}

/* x, which has the slice's elements, in their places of an array of these sizes; zeros elsewhere.
 * A pad does it: `low` elements in front, stride - 1 between neighbours, `high` after. */
static hr_status_t place_strided(tf_op_t *op, const strided_t *s, const int64_t *sizes, expr_t x,
                                 expr_t *out_x) {
  int64_t dims[HLO_MAX_RANK], low[HLO_MAX_RANK], high[HLO_MAX_RANK], gaps[HLO_MAX_RANK];
  int64_t reversed[HLO_MAX_RANK];
  int count = 0;
  for (int d = 0; d < s->rank; d++) {
    int64_t step = s->dims[d].stride < 0 ? -s->dims[d].stride : s->dims[d].stride;
    bool backward = s->dims[d].stride < 0;
    dims[d] = s->dims[d].count;
    if (backward) reversed[count++] = d;
    low[d] = backward ? s->dims[d].begin - (dims[d] - 1) * step : s->dims[d].begin;
    if (!dims[d]) low[d] = 0;
    high[d] = sizes[d] - low[d] - (dims[d] ? (dims[d] - 1) * step + 1 : 0);
    gaps[d] = step - 1;
  }
  x = tf_reshape(op->b, x, s->rank, dims);
  HR_TRY(tf_reverse(op, x, count, reversed, &x));
  expr_t zero = x ? tf_scalar(op->b, 0, x->shape->dtype) : NULL;
  *out_x = tf_pad(op->b, x, zero, low, high, gaps);
  return NULL;
}

/* Dimensions whose start is known at run time only: one element that moves, or a part of a dynamic
 * dimension. */
static bool is_placed(const strided_dim_t *dim) { return dim->moving || dim->start; }

/* `x` has the places of all other dimensions. The array of zeros is longer by the update, as starts
 * of updates are clamped. */
static expr_t place_moving(hlo_builder_t *b, const strided_t *s, const int64_t *sizes, expr_t x) {
  int64_t wide[HLO_MAX_RANK], none[HLO_MAX_RANK] = {0};
  expr_t starts[HLO_MAX_RANK];
  bool any = false;
  for (int d = 0; d < s->rank; d++) {
    const strided_dim_t *dim = &s->dims[d];
    expr_t at = dim->moving ? dim->moving : dim->start;
    any |= is_placed(dim);
    wide[d] = sizes[d] + (dim->start ? dim->count : 0);
    starts[d] = at ? hlo_build_convert(b, at, HR_S32) : tf_scalar_int(b, 0, HR_S32);
  }
  if (!any || !x) return x;
  expr_t zeros = tf_fill(b, 0, x->shape->dtype, s->rank, wide);
  return tf_slice(b, tf_dynamic_update(b, zeros, x, starts), none, sizes, NULL);
}

/* Inputs: shape, begin, end, strides, dy: dy in the places of the slice, zeros elsewhere. */
hr_status_t tf_lower_strided_slice_grad(tf_op_t *op) {
  strided_t s;
  tf_sizes_t shape;
  int64_t sizes[HLO_MAX_RANK] = {0};
  expr_t x = tf_in(op, 4);
  HR_TRY(tf_sizes_in(op, 0, &shape));
  if (!x) return hlo_builder_finish(op->b);
  expr_t zero = tf_scalar(op->b, 0, x->shape->dtype),
         whole = tf_broadcast_sized(op->b, zero, &shape);
  if (!whole) return hlo_builder_finish(op->b);
  HR_TRY(resolve_strided(op, 1, whole, shape.rank, shape.dims, &s));
  for (int d = 0; d < x->shape->rank; d++) x = tf_fill_dynamic(op, x, d, zero);
  for (int d = 0; d < s.rank; d++) {
    bool later = is_placed(&s.dims[d]);
    sizes[d] = later ? s.dims[d].count : shape.dims[d];
    if (later) s.dims[d].begin = 0;
  }
  HR_TRY(place_strided(op, &s, sizes, x, &x));
  x = place_moving(op->b, &s, shape.dims, x);
  for (int d = 0; d < s.rank && x; d++)
    if (shape.exprs[d]) x = tf_set_size(op->b, x, d, shape.exprs[d]);
  return tf_out(op, 0, x);
}

/* x with the places of a slice with gaps replaced: a mask says where they are. */
static hr_status_t update_with_gaps(tf_op_t *op, const strided_t *s, expr_t *x, expr_t value) {
  hlo_builder_t *b = op->b;
  expr_t marks = tf_fill(b, 1, HR_PRED, s->result_rank, s->result);
  HR_TRY(place_strided(op, s, (*x)->shape->dims, value, &value));
  HR_TRY(place_strided(op, s, (*x)->shape->dims, marks, &marks));
  *x = f_select(b, marks, value, *x);
  return NULL;
}

/* The places of a slice without gaps. */
static hr_status_t update_dense(tf_op_t *op, const strided_t *s, expr_t *x, expr_t value) {
  int64_t dims[HLO_MAX_RANK], reversed[HLO_MAX_RANK];
  expr_t starts[HLO_MAX_RANK];
  int count = 0;
  for (int d = 0; d < s->rank; d++) {
    strided_dim_t dim = s->dims[d];
    bool backward = dim.stride < 0;
    if (backward) reversed[count++] = d;
    dims[d] = dim.count;
    starts[d] =
        dim.moving ? hlo_build_convert(op->b, dim.moving, HR_S32)
                   : tf_scalar_int(op->b, backward ? dim.begin - dim.count + 1 : dim.begin, HR_S32);
  }
  value = tf_reshape(op->b, value, s->rank, dims);
  HR_TRY(tf_reverse(op, value, count, reversed, &value));
  *x = value ? tf_dynamic_update(op->b, *x, value, starts) : NULL;
  return NULL;
}

/* x with the places of a strided slice replaced. variant 0: TensorStridedSliceUpdate; 1:
 * ResourceStridedSliceAssign. inputs: x, begin, end, strides, value. */
hr_status_t tf_lower_strided_update(tf_op_t *op) {
  strided_t s;
  bool has_gaps = false;
  tf_resource_t *resource = NULL;
  expr_t x = tf_in(op, 0), value = tf_in(op, 4);
  if (!x || !value) return hlo_builder_finish(op->b);
  if (op->row->variant) HR_TRY(tf_resource_of(op, 0, &resource));
  HR_TRY(resolve_strided(op, 1, NULL, x->shape->rank, x->shape->dims, &s));
  for (int d = 0; d < s.rank; d++)
    has_gaps |= s.dims[d].count > 1 && s.dims[d].stride != 1 && s.dims[d].stride != -1;
  if (has_gaps && moves(&s)) return tf_unsupported(op, "a slice with gaps that moves");
  value = tf_broadcast(op->b, value, s.result_rank, s.result);
  HR_TRY(has_gaps ? update_with_gaps(op, &s, &x, value) : update_dense(op, &s, &x, value));
  return resource ? tf_set_variable(op, resource, x) : tf_out(op, 0, x);
}
