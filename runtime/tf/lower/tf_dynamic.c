/* Operations whose results have as many elements as the data say. As in XLA the result is an array
 * of the largest size with a dynamic dimension, whose size is set at run time; if that size is a
 * compile-time constant, the result is static.
 *
 * Kept elements come to the front by a stable sort on "not kept", in their order.
 * Cost: sorts of n elements; rows of UniqueV2 and boxes are compared all with all. */
#include <math.h>

#include "tf/lower/tf_loops.h"
#include "tf/compile/tf_trips.h"

/* --- sizes --- */

hr_status_t tf_cut_to(tf_op_t *op, expr_t x, int d, expr_t count, expr_t *out) {
  hlo_value_t *known;
  if (!x || !count) return hlo_builder_finish(op->b);
  HR_TRY(tf_evaluate(op->scope->compiler, count, &known));
  if (!known) HR_TRY(tf_loop_result(op->scope->compiler, count, &known));
  if (known) {
    *out = tf_slice_dim(op->b, x, d, 0, hlo_value_int_at(known, 0));
    return NULL;
  }
  *out = tf_set_size(op->b, x, d, count);
  return NULL;
}

/* Number of set elements of a vector of pred, as s32. */
static expr_t count_set(tf_op_t *op, expr_t mask) {
  int64_t dim = 0;
  return mask ? tf_reduce(op, HLO_ADD, hlo_build_convert(op->b, mask, HR_S32), 1, &dim, false)
              : NULL;
}

/* Indices (of `dtype`) of the elements of a vector of pred, the set ones first, in order. */
static hr_status_t order_by(tf_op_t *op, expr_t mask, hr_dtype_t dtype, expr_t *out) {
  if (!mask) return hlo_builder_finish(op->b);
  expr_t arrays[] = {hlo_build_convert(op->b, f_not(op->b, mask), HR_S32),
                     tf_iota_like(op->b, dtype, mask, 0)};
  HR_TRY(tf_sort(op, 2, arrays, 0));
  *out = arrays[1];
  return NULL;
}

/* Rows of x where the mask is set. */
static hr_status_t keep_rows(tf_op_t *op, expr_t x, expr_t mask, int axis, expr_t *out) {
  expr_t order = NULL;
  HR_TRY(order_by(op, mask, HR_S32, &order));
  expr_t count = count_set(op, mask);
  return tf_cut_to(op, tf_gather_rows(op->b, x, order, axis, 0), axis, count, out);
}

static expr_t as_vector(hlo_builder_t *b, expr_t x) {
  if (!x) return NULL;
  int64_t size = hlo_shape_elements(x->shape);
  return tf_reshape(b, x, 1, &size);
}

/* --- Where, DynamicPartition, ListDiff --- */

/* Where: s64[count, rank], the indices of elements that are not 0, in row-major order. */
hr_status_t tf_lower_where(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0), flat, order = NULL, columns[HLO_MAX_RANK], result;
  if (!x) return hlo_builder_finish(b);
  const hlo_shape_t *shape = x->shape;
  flat = as_vector(b, x);
  if (shape->dtype != HR_PRED && flat) flat = f_ne(b, flat, f_number(b, 0, flat));
  HR_TRY(order_by(op, flat, HR_S64, &order));
  int64_t size = hlo_shape_elements(shape), wide[] = {size, 1}, none[] = {size, 0};
  for (int d = shape->rank - 1; d >= 0 && order; d--) {
    expr_t each = hlo_build_convert(b, tf_size_of(b, x, d), HR_S64);
    each = shape->dims[d] ? tf_broadcast_like(b, each, order) : f_number(b, 1, order);
    columns[d] = tf_reshape(b, f_rem(b, order, each), 2, wide);
    order = f_div(b, order, each);
  }
  if (!order) return hlo_builder_finish(b);
  result = shape->rank ? tf_concat(b, shape->rank, columns, 1) : tf_fill(b, 0, HR_S64, 2, none);
  HR_TRY(tf_cut_to(op, result, 0, count_set(op, flat), &result));
  return tf_out(op, 0, result);
}

/* Inputs: data, partitions. Output p has the rows whose partition is p. */
hr_status_t tf_lower_dynamic_partition(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t count, dims[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0), part = tf_in(op, 1), rows;
  HR_TRY(tf_attr_int(op->arena, op->node, "num_partitions", 1, &count));
  if (!x || !part) return hlo_builder_finish(b);
  int depth = part->shape->rank, rank = x->shape->rank - depth + 1;
  if (rank < 1 || count < 1 || count > TF_MAX_PARTS)
    return tf_error(op, "%ld partitions by %d dimensions", (long)count, depth);
  dims[0] = hlo_shape_elements(part->shape);
  for (int d = 1; d < rank; d++) dims[d] = x->shape->dims[depth + d - 1];
  if (hlo_shape_elements(x->shape) / (dims[0] ? dims[0] : 1) * dims[0] !=
      hlo_shape_elements(x->shape))
    return tf_error(op, "the partitions do not fit the data");
  x = tf_reshape(b, x, rank, dims);
  part = as_vector(b, part);
  HR_TRY(tf_need_outputs(op, (int)count));
  for (int64_t p = 0; p < count && part; p++) {
    expr_t mine = f_eq(b, part, f_number(b, (double)p, part));
    HR_TRY(keep_rows(op, x, mine, 0, &rows));
    HR_TRY(tf_out(op, (int)p, rows));
  }
  return hlo_builder_finish(b);
}

#define DIFF_CONSTANTS_MAX (1 << 20) /* most pairs that ListDiff compares at compile time */

/* ListDiff of short constants of integers gives constants: the gradient of a product over some
 * dimensions makes a permutation of them. */
static hr_status_t diff_constants(tf_op_t *op, hr_dtype_t dtype, bool *out_done) {
  hlo_value_t *x, *y = NULL;
  int64_t *rows, *places, count = 0;
  *out_done = false;
  HR_TRY(tf_const_if_known(op, 0, &x));
  if (x) HR_TRY(tf_const_if_known(op, 1, &y));
  if (!y || x->rank != 1 || y->rank != 1 || !hr_dtype_is_integer(x->dtype) ||
      x->count > DIFF_CONSTANTS_MAX / (y->count + 1))
    return NULL;
  HR_TRY(HR_NEW_ARRAY(op->arena, x->count, &rows));
  HR_TRY(HR_NEW_ARRAY(op->arena, x->count, &places));
  for (int64_t i = 0; i < x->count; i++) {
    int64_t k = 0, row = hlo_value_int_at(x, i);
    while (k < y->count && hlo_value_int_at(y, k) != row) k++;
    if (k < y->count) continue;
    rows[count] = row;
    places[count++] = i;
  }
  *out_done = true;
  HR_TRY(tf_out_ints(op, 0, x->dtype, false, count, rows));
  return tf_out_ints(op, 1, dtype, false, count, places);
}

/* ListDiff(x, y): the elements of x that are not in y, and their indices. */
hr_status_t tf_lower_list_diff(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hr_dtype_t dtype;
  expr_t x = tf_in(op, 0), y = tf_in(op, 1), rows;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "out_idx", &dtype));
  if (dtype == HR_TUPLE) dtype = HR_S32;
  bool done;
  HR_TRY(diff_constants(op, dtype, &done));
  if (done) return NULL;
  if (!x || !y) return hlo_builder_finish(b);
  if (x->shape->rank != 1 || y->shape->rank != 1) return tf_error(op, "want two vectors");
  int64_t wide[] = {x->shape->dims[0], y->shape->dims[0]}, column[] = {wide[0], 1}, dim = 1;
  expr_t same =
      f_eq(b, tf_broadcast(b, tf_reshape(b, x, 2, column), 2, wide), tf_broadcast(b, y, 2, wide));
  expr_t mask = f_not(b, tf_reduce(op, HLO_OR, same, 1, &dim, false));
  HR_TRY(keep_rows(op, x, mask, 0, &rows));
  HR_TRY(tf_out(op, 0, rows));
  HR_TRY(keep_rows(op, tf_iota(b, dtype, 1, wide, 0), mask, 0, &rows));
  return tf_out(op, 1, rows);
}

/* --- Unique --- */

/* The index of the first element that equals each one, of a vector: equal elements are neighbours
 * after a sort, and each takes the index at the start of its run. */
static hr_status_t first_by_sort(tf_op_t *op, expr_t x, expr_t *out) {
  hlo_builder_t *b = op->b;
  int64_t low = 1, high = -1;
  expr_t place = tf_iota_like(b, HR_S32, x, 0);
  expr_t arrays[] = {x, place};
  HR_TRY(tf_sort(op, 2, arrays, 0));
  expr_t before = tf_pad(b, arrays[0], tf_scalar(b, 0, x->shape->dtype), &low, &high, NULL);
  if (!before || !place) return hlo_builder_finish(b);
  expr_t starts = f_or(b, f_ne(b, arrays[0], before), f_eq(b, place, f_number(b, 0, place)));
  expr_t run = tf_prefix(op, HLO_MAXIMUM, f_select(b, starts, place, f_number(b, 0, place)));
  expr_t back[] = {arrays[1], tf_gather_rows(b, arrays[1], run, 0, 0)};
  HR_TRY(tf_sort(op, 2, back, 0));
  *out = back[1];
  return NULL;
}

/* For each row of x along an axis, the first row that is equal, by comparing all with all. */
static hr_status_t first_by_rows(tf_op_t *op, expr_t x, int axis, expr_t *out) {
  hlo_builder_t *b = op->b;
  int64_t order[HLO_MAX_RANK] = {axis}, n = x->shape->dims[axis], dim = 2;
  int at = 1;
  for (int d = 0; d < x->shape->rank; d++)
    if (d != axis) order[at++] = d;
  int64_t each = n ? hlo_shape_elements(x->shape) / n : 0;
  int64_t left[] = {n, 1, each}, right[] = {1, n, each}, wide[] = {n, n, each};
  x = tf_transpose(b, x, order);
  expr_t same = f_eq(b, tf_broadcast(b, tf_reshape(b, x, 3, left), 3, wide),
                     tf_broadcast(b, tf_reshape(b, x, 3, right), 3, wide));
  same = tf_reduce(op, HLO_AND, same, 1, &dim, false);
  expr_t place = tf_iota(b, HR_S32, 2, wide, 1);
  if (!same || !place) return hlo_builder_finish(b);
  expr_t found = f_select(b, same, place, f_number(b, (double)n, place));
  dim = 1;
  *out = tf_reduce(op, HLO_MINIMUM, found, 1, &dim, false);
  return NULL;
}

/* How often each of the first elements occurs, of the type of `which`. */
static hr_status_t count_each(tf_op_t *op, expr_t which, expr_t is_first, expr_t *out) {
  hlo_builder_t *b = op->b;
  if (!which) return hlo_builder_finish(b);
  int64_t column[] = {which->shape->dims[0], 1};
  expr_t sums, ones = f_number(b, 1, which);
  HR_TRY(tf_scatter_nd(op, f_number(b, 0, which), tf_reshape(b, which, 2, column), ones, HLO_ADD,
                       &sums));
  return tf_cut_to(op, sums, 0, count_set(op, is_first), out);
}

/* Unique(x) and UniqueV2(x, axis): elements in the order of their first occurrence, and which of
 * them each one is. UniqueWithCounts and UniqueWithCountsV2 (variant 1): also how often each one
 * occurs. */
hr_status_t tf_lower_unique(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hr_dtype_t dtype;
  hr_ints_t axes = {0};
  int axis = 0;
  expr_t x = tf_in(op, 0), first = NULL, rows;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "out_idx", &dtype));
  if (op->input_count > 1) HR_TRY(tf_const_ints(op, 1, &axes));
  if (!x) return hlo_builder_finish(b);
  if (axes.count) HR_TRY(tf_axis(op, axes.data[0], x->shape->rank, &axis));
  if (!axes.count && x->shape->rank != 1)
    return tf_error(op, "an array of %d dimensions, want a vector", x->shape->rank);
  HR_TRY(x->shape->rank == 1 ? first_by_sort(op, x, &first) : first_by_rows(op, x, axis, &first));
  if (!first) return hlo_builder_finish(b);
  expr_t is_first = f_eq(b, first, tf_iota_like(b, HR_S32, first, 0));
  expr_t number = is_first ? hlo_build_convert(b, is_first, HR_S32) : NULL;
  number = tf_prefix(op, HLO_ADD, number);
  if (!number) return hlo_builder_finish(b);
  number = f_sub(b, number, f_number(b, 1, number));
  HR_TRY(keep_rows(op, x, is_first, axis, &rows));
  HR_TRY(tf_out(op, 0, rows));
  expr_t which = tf_gather_rows(b, number, first, 0, 0);
  if (which && dtype == HR_S64) which = hlo_build_convert(b, which, dtype);
  HR_TRY(tf_out(op, 1, which));
  if (!op->row->variant) return NULL;
  HR_TRY(count_each(op, which, is_first, &rows));
  return tf_out(op, 2, rows);
}

/* --- XLA's own --- */

/* XlaSetDynamicDimensionSize(x, dimension, size). */
hr_status_t tf_lower_xla_dimension_size(tf_op_t *op) {
  int64_t dim;
  int at;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_const_int(op, 1, &dim));
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_axis(op, dim, x->shape->rank, &at));
  dim = at;
  hlo_attr_t attr = hlo_attr_of_ints(op->b, HLO_ATTR_DIMENSIONS, 1, &dim);
  expr_t operands[] = {x, tf_in(op, 2)};
  return tf_out(op, 0,
                hlo_build(op->b, HLO_SET_DIMENSION_SIZE, NULL, 2, operands, 1, &attr, 0, NULL));
}

/* Dynamic dimensions padded with zeros to their bounds. */
static expr_t pad_to_static(hlo_builder_t *b, expr_t x) {
  const hlo_shape_t *shapes[HLO_MAX_RANK + 1], *tuple = NULL;
  if (!x || !hlo_shape_is_dynamic(x->shape)) return x;
  shapes[0] = tf_shape(b, x->shape->dtype, x->shape->rank, x->shape->dims);
  for (int d = 0; d < x->shape->rank; d++) shapes[d + 1] = hlo_shape_scalar(HR_S32);
  if (!b->status)
    b->status = hlo_shape_tuple(&b->computation->module->arena, x->shape->rank + 1, shapes, &tuple);
  hlo_attr_t attr = hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, HR_STR("PadToStatic"));
  return hlo_build_element(b, hlo_build(b, HLO_CUSTOM_CALL, tuple, 1, &x, 1, &attr, 0, NULL), 0);
}

/* XlaRemoveDynamicDimensionSize(x, dimension): a static array again, padded with zeros. Other
 * dimensions must be static. */
hr_status_t tf_lower_xla_static_size(tf_op_t *op) {
  return tf_out(op, 0, pad_to_static(op->b, tf_in(op, 0)));
}

/* `all`, which is x with static sizes, with `fill` after the elements of x along dimension d. */
static expr_t fill_behind(hlo_builder_t *b, expr_t all, expr_t x, int d, expr_t fill) {
  expr_t size = tf_size_of(b, x, d);
  expr_t place = all ? tf_iota_like(b, HR_S32, all, d) : NULL;
  if (!place) return NULL;
  expr_t is_there = f_lt(b, place, tf_broadcast_like(b, size, place));
  return f_select(b, is_there, all, tf_broadcast_like(b, fill, all));
}

expr_t tf_fill_dynamic(tf_op_t *op, expr_t x, int d, expr_t fill) {
  if (!x || !x->shape->dynamic || !x->shape->dynamic[d]) return x;
  return fill_behind(op->b, pad_to_static(op->b, x), x, d, fill);
}

expr_t tf_fill_all(hlo_builder_t *b, expr_t x, expr_t fill) {
  expr_t all = pad_to_static(b, x);
  for (int d = 0; x && d < x->shape->rank; d++)
    if (x->shape->dynamic && x->shape->dynamic[d]) all = fill_behind(b, all, x, d, fill);
  return all;
}

/* --- non-maximum suppression --- */

/* Column k of boxes [n, 4], over [n, n] by row or by column. */
static expr_t side(hlo_builder_t *b, expr_t boxes, int k, bool by_row) {
  int64_t n = boxes->shape->dims[0], column[] = {n, 1}, row[] = {1, n}, wide[] = {n, n};
  expr_t x = tf_slice_dim(b, boxes, 1, k, k + 1);
  return tf_broadcast(b, tf_reshape(b, x, 2, by_row ? column : row), 2, wide);
}

/* Extent of a box along one side: low and high end in either order. */
static void extent(hlo_builder_t *b, expr_t boxes, int k, bool by_row, expr_t *low, expr_t *high) {
  expr_t x = side(b, boxes, k, by_row), y = side(b, boxes, k + 2, by_row);
  *low = f_min(b, x, y);
  *high = f_max(b, x, y);
}

/* Whether boxes i and j overlap by more than the threshold; a box without area overlaps none. */
static expr_t overlaps(hlo_builder_t *b, expr_t boxes, expr_t threshold) {
  expr_t low[2][2], high[2][2], shared = NULL, area[2] = {NULL, NULL};
  for (int k = 0; k < 2; k++) {
    for (int r = 0; r < 2; r++) {
      extent(b, boxes, k, r, &low[k][r], &high[k][r]);
      expr_t length = f_sub(b, high[k][r], low[k][r]);
      area[r] = area[r] ? f_mul(b, area[r], length) : length;
    }
    expr_t length = f_sub(b, f_min(b, high[k][0], high[k][1]), f_max(b, low[k][0], low[k][1]));
    length = length ? f_max(b, length, f_number(b, 0, length)) : NULL;
    shared = shared ? f_mul(b, shared, length) : length;
  }
  if (!shared || !area[0] || !area[1] || !threshold) return NULL;
  expr_t zero = f_number(b, 0, shared);
  expr_t part = f_div(b, shared, f_sub(b, f_add(b, area[0], area[1]), shared));
  expr_t solid = f_and(b, f_gt(b, area[0], zero), f_gt(b, area[1], zero));
  if (threshold->shape->dtype != shared->shape->dtype)
    threshold = hlo_build_convert(b, threshold, shared->shape->dtype);
  threshold = tf_broadcast_like(b, threshold, shared);
  return f_and(b, solid, f_gt(b, part, threshold));
}

/* State: kept [n], overlap [n, n]. Box `trip`, if it is kept, removes later boxes that it
 * overlaps. */
static void suppress(tf_op_t *op, const void *context, expr_t trip, expr_t *s) {
  hlo_builder_t *b = op->b;
  (void)context;
  if (!s[0] || !s[1]) return;
  int64_t n = s[0]->shape->dims[0], row[] = {1, n}, one = 1;
  expr_t starts[] = {trip, tf_scalar_int(b, 0, HR_S32)};
  expr_t hit = tf_reshape(b, tf_dynamic_slice(b, s[1], starts, row), 1, &n);
  expr_t mine =
      tf_broadcast(b, tf_reshape(b, tf_dynamic_slice(b, s[0], &trip, &one), 0, NULL), 1, &n);
  expr_t behind = f_gt(b, tf_iota(b, HR_S32, 1, &n, 0), tf_broadcast(b, trip, 1, &n));
  expr_t gone = f_and(b, f_and(b, mine, hit), behind);
  s[0] = f_and(b, s[0], f_not(b, gone));
}

/* Inputs: boxes, scores, most results, overlap threshold, score threshold. Boxes in the order of
 * their scores; each kept one removes those that overlap it. NonMaxSuppressionV3 gives the indices;
 * variant 1, V4, pads them with zeros and gives their number, too. */
hr_status_t tf_lower_non_max_suppression(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t most;
  bool pads = false;
  expr_t boxes = tf_in(op, 0), scores = tf_in(op, 1), order = NULL;
  HR_TRY(tf_const_int(op, 2, &most));
  if (!boxes || !scores) return hlo_builder_finish(b);
  if (boxes->shape->rank != 2 || boxes->shape->dims[1] != 4 || most < 0 || most > INT32_MAX)
    return tf_error(op, "want boxes [n, 4] and a number of results");
  HR_TRY(tf_attr_bool(op->arena, op->node, "pad_to_max_output_size", false, &pads));
  int64_t n = boxes->shape->dims[0], low = 0, high = most - n;
  boxes = tf_fill_dynamic(op, boxes, 0, tf_scalar(b, 0, boxes->shape->dtype));
  scores = tf_fill_dynamic(op, scores, 0, tf_scalar(b, -INFINITY, scores->shape->dtype));
  if (!boxes || !scores) return hlo_builder_finish(b);
  expr_t ranked[] = {f_neg(b, scores), tf_iota(b, HR_S32, 1, &n, 0)};
  HR_TRY(tf_sort(op, 2, ranked, 0));
  expr_t least = tf_in(op, 4);
  if (!least || !ranked[0]) return hlo_builder_finish(b);
  if (least->shape->dtype != scores->shape->dtype)
    least = hlo_build_convert(b, least, scores->shape->dtype);
  expr_t fit = f_gt(b, f_neg(b, ranked[0]), tf_broadcast(b, least, 1, &n));
  expr_t sorted = tf_gather_rows(b, boxes, ranked[1], 0, 0);
  expr_t state[] = {fit, sorted ? overlaps(b, sorted, tf_in(op, 3)) : NULL};
  tf_steps_t steps = {.count = 2, .trips = n, .step = suppress};
  HR_TRY(tf_repeat(op, &steps, state));
  HR_TRY(order_by(op, state[0], HR_S32, &order));
  expr_t count = f_min(b, count_set(op, state[0]), tf_scalar_int(b, most, HR_S32));
  expr_t chosen = tf_gather_rows(b, ranked[1], order, 0, 0);
  chosen = tf_pad(b, chosen, tf_scalar_int(b, 0, HR_S32), &low, &high, NULL);
  if (!chosen || !count) return hlo_builder_finish(b);
  expr_t valid = f_lt(b, tf_iota(b, HR_S32, 1, &most, 0), tf_broadcast(b, count, 1, &most));
  chosen = f_select(b, valid, chosen, f_number(b, 0, chosen));
  if (!op->row->variant || !pads) HR_TRY(tf_cut_to(op, chosen, 0, count, &chosen));
  HR_TRY(tf_out(op, 0, chosen));
  return op->row->variant ? tf_out(op, 1, count) : NULL;
}
