/* Counting, searching and stitching: histograms, sorted bounds, sequences that are reversed in
 * part, pieces that indices put together. */
#include <math.h>
#include <string.h>

#include "tf/compile/tf_lower.h"

/* --- counting --- */

/* Inputs: numbers, how many bins, weights (none: ones). variant 0: Bincount of any shape; 1:
 * DenseBincount, by row if there are two dimensions. Numbers outside are left out.
 * Each number is compared with all bins, and hits are summed: cost elements times bins.
 * binary_output only says whether a bin occurs. */
hr_status_t tf_lower_bincount(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_sizes_t size;
  bool binary = false;
  hr_dtype_t dtype;
  expr_t x = tf_in(op, 0), weights = tf_in(op, 2);
  if (!x || !weights) return hlo_builder_finish(b);
  HR_TRY(tf_sizes_in(op, 1, &size));
  int64_t bins = size.rank == 1 ? size.dims[0] : -1;
  if (bins < 0) return tf_error(op, "%ld bins", (long)bins);
  if (op->row->variant) HR_TRY(tf_attr_bool(op->arena, op->node, "binary_output", false, &binary));
  dtype = weights->shape->dtype;
  bool by_row = op->row->variant && x->shape->rank == 2;
  int64_t rows = by_row ? x->shape->dims[0] : 1;
  int64_t each = rows ? hlo_shape_elements(x->shape) / rows : 0;
  int64_t flat[] = {rows, each, 1}, wide[] = {rows, each, bins}, result[] = {rows, bins};
  expr_t number = tf_broadcast(b, tf_reshape(b, x, 3, flat), 3, wide);
  expr_t bin = tf_iota_like(b, x->shape->dtype, number, 2);
  expr_t hit = f_eq(b, number, bin);
  if (!hit) return hlo_builder_finish(b);
  expr_t counted = hlo_build_convert(b, hit, dtype);
  int64_t total = rows * each;
  if (hlo_shape_elements(weights->shape) == total && total > 0 && !binary)
    counted = f_mul(b, counted, tf_broadcast(b, tf_reshape(b, weights, 3, flat), 3, wide));
  int64_t dim = 1;
  expr_t sum = tf_reduce(op, binary ? HLO_MAXIMUM : HLO_ADD, counted, 1, &dim, false);
  expr_t counts = by_row ? tf_reshape(b, sum, 2, result) : tf_reshape(b, sum, 1, &bins);
  if (size.exprs[0]) HR_TRY(tf_cut_to(op, counts, by_row, size.exprs[0], &counts));
  return tf_out(op, 0, counts);
}

/* x <= y or x < y; complex numbers are in the order of their real, then imaginary parts. */
static expr_t is_before(hlo_builder_t *b, expr_t x, expr_t y, bool or_equal) {
  if (!x || !y || !hr_dtype_is_complex(x->shape->dtype))
    return or_equal ? f_le(b, x, y) : f_lt(b, x, y);
  expr_t xr = hlo_build_unary(b, HLO_REAL, x), yr = hlo_build_unary(b, HLO_REAL, y);
  expr_t xi = hlo_build_unary(b, HLO_IMAG, x), yi = hlo_build_unary(b, HLO_IMAG, y);
  return f_or(b, f_lt(b, xr, yr), f_and(b, f_eq(b, xr, yr), is_before(b, xi, yi, or_equal)));
}

/* LowerBound and UpperBound. Inputs: sorted [batch, n], values [batch, m]. The first place that a
 * value could take (variant 0) or the last (1): the number of elements that are less, or not
 * greater. Counting does not need the search to be sequential. */
hr_status_t tf_lower_bound(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hr_dtype_t dtype;
  expr_t sorted = tf_in(op, 0), values = tf_in(op, 1);
  if (!sorted || !values) return hlo_builder_finish(b);
  if (sorted->shape->rank != 2 || values->shape->rank != 2)
    return tf_error(op, "want two dimensions of both");
  HR_TRY(tf_attr_dtype(op->arena, op->node, "out_type", &dtype));
  if (dtype == HR_TUPLE) dtype = HR_S32;
  int64_t n = sorted->shape->dims[1], m = values->shape->dims[1], rows = values->shape->dims[0];
  int64_t in[] = {rows, 1, n}, of[] = {rows, m, 1};
  expr_t x = tf_reshape(b, sorted, 3, in), y = tf_reshape(b, values, 3, of);
  tf_broadcast_pair(b, &x, &y);
  expr_t before = is_before(b, x, y, op->row->variant);
  int64_t dim = 2;
  expr_t ones = before ? hlo_build_convert(b, before, dtype) : NULL;
  return tf_out(op, 0, tf_reduce(op, HLO_ADD, ones, 1, &dim, false));
}

/* Bucketize: the number of boundaries that are not greater than each number. Attribute boundaries:
 * a list of floats, packed or single. */
hr_status_t tf_lower_bucketize(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_attr_proto_t attr;
  tf_list_proto_t list;
  bool found;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  HR_TRY(tf_attr_find(op->arena, op->node, "boundaries", &attr, &found));
  HR_TRY(TF_DECODE(op->arena, list, attr.list, &list));
  expr_t wide = x->shape->dtype == HR_F64 ? x : hlo_build_convert(b, x, HR_F32);
  expr_t sum = tf_broadcast_like(b, tf_scalar(b, 0, HR_S32), x);
  for (int64_t i = 0; i < list.f.count; i++)
    for (size_t at = 0; at + 4 <= list.f.items[i].size && wide; at += 4) {
      float bound;
      memcpy(&bound, list.f.items[i].data + at, sizeof bound);
      expr_t reached = f_ge(b, wide, f_number(b, bound, wide));
      sum = f_add(b, sum, reached ? hlo_build_convert(b, reached, HR_S32) : NULL);
    }
  return tf_out(op, 0, sum);
}

/* Inputs: predictions [n, classes], targets [n], k. Whether fewer than k classes have a greater
 * value than the target's; a value that is not finite is in no top.
 * InTopK and InTopKV2. The target's own value is picked by a mask and a sum. */
hr_status_t tf_lower_in_top_k(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0), targets = tf_in(op, 1), k = tf_in(op, 2);
  if (!x || !targets || !k) return hlo_builder_finish(b);
  if (x->shape->rank != 2) return tf_error(op, "predictions of %d dimensions", x->shape->rank);
  int64_t column[] = {x->shape->dims[0], 1}, dim = 1;
  expr_t target = tf_broadcast_like(b, tf_reshape(b, targets, 2, column), x);
  expr_t class = tf_iota_like(b, targets->shape->dtype, x, 1);
  expr_t mine = f_select(b, f_eq(b, target, class), x, f_number(b, 0, x));
  expr_t own = tf_reduce(op, HLO_ADD, mine, 1, &dim, true);
  expr_t finite = own ? hlo_build_unary(b, HLO_IS_FINITE, own) : NULL;
  expr_t above = f_gt(b, x, tf_broadcast_like(b, own, x));
  expr_t ones = above ? hlo_build_convert(b, above, k->shape->dtype) : NULL;
  expr_t count = tf_reduce(op, HLO_ADD, ones, 1, &dim, false);
  if (!count || !finite) return hlo_builder_finish(b);
  expr_t inside = f_lt(b, count, tf_broadcast_like(b, k, count));
  return tf_out(op, 0, f_and(b, inside, tf_reshape(b, finite, 1, count->shape->dims)));
}

/* --- sequences --- */

/* ReverseSequence. Inputs: x, lengths along batch_dim. The first elements along seq_dim in the
 * opposite order. Batch and sequence come in front for the gather; place p of a sequence of length
 * n takes element n - 1 - p if p < n, else p. `back` is the inverse of `order`. */
hr_status_t tf_lower_reverse_sequence(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t seq, batch, order[HLO_MAX_RANK], back[HLO_MAX_RANK];
  int s, n, at = 2;
  expr_t x = tf_in(op, 0), lengths = tf_in(op, 1);
  if (!x || !lengths) return hlo_builder_finish(b);
  HR_TRY(tf_attr_int(op->arena, op->node, "seq_dim", 0, &seq));
  HR_TRY(tf_attr_int(op->arena, op->node, "batch_dim", 0, &batch));
  HR_TRY(tf_axis(op, seq, x->shape->rank, &s));
  HR_TRY(tf_axis(op, batch, x->shape->rank, &n));
  if (s == n) return tf_error(op, "seq_dim and batch_dim are the same");
  order[0] = n;
  order[1] = s;
  for (int d = 0; d < x->shape->rank; d++)
    if (d != s && d != n) order[at++] = d;
  for (int d = 0; d < x->shape->rank; d++) back[order[d]] = d;
  int64_t dims[] = {x->shape->dims[n], x->shape->dims[s]}, column[] = {x->shape->dims[n], 1};
  hr_dtype_t dtype = lengths->shape->dtype;
  expr_t length = tf_broadcast(b, tf_reshape(b, lengths, 2, column), 2, dims);
  expr_t place = tf_iota(b, dtype, 2, dims, 1);
  if (!length || !place) return hlo_builder_finish(b);
  expr_t turned = f_sub(b, f_sub(b, length, f_number(b, 1, length)), place);
  expr_t index = f_select(b, f_lt(b, place, length), turned, place);
  expr_t moved = tf_gather_rows(b, tf_transpose(b, x, order), index, 1, 1);
  return tf_out(op, 0, tf_transpose(b, moved, back));
}

/* --- stitching --- */

/* Sizes of array `count` + k as rows, one for each index of list k. */
static hr_status_t stitched_rows(tf_op_t *op, int count, int k, int *out_rank, int64_t *out_dims) {
  const hlo_shape_t *lists = tf_in_shape(op, k), *shape = tf_in_shape(op, count + k);
  if (!lists || !shape) return hlo_builder_finish(op->b);
  int row_rank = shape->rank - lists->rank;
  if (row_rank < 0 || row_rank + 1 > HLO_MAX_RANK) return tf_error(op, "array %d does not fit", k);
  for (int d = 0; d < lists->rank; d++)
    if (shape->dims[d] != lists->dims[d]) return tf_error(op, "array %d does not fit", k);
  out_dims[0] = hlo_shape_elements(lists);
  for (int d = 0; d < row_rank; d++) out_dims[d + 1] = shape->dims[lists->rank + d];
  *out_rank = row_rank + 1;
  return NULL;
}

/* chosen[r] is the row that wins at place r. */
static hr_status_t stitch_known(tf_op_t *op, int count) {
  hlo_builder_t *b = op->b;
  int rank = 0;
  int64_t dims[HLO_MAX_RANK], rows = 0;
  const expr_t *from;
  expr_t *chosen;
  for (int k = 0; k < count; k++) {
    hr_ints_t indices;
    HR_TRY(tf_const_ints(op, k, &indices));
    for (int64_t i = 0; i < indices.count; i++) {
      if (indices.data[i] < 0 || indices.data[i] > (1 << 24))
        return tf_error(op, "the index %ld", (long)indices.data[i]);
      if (indices.data[i] >= rows) rows = indices.data[i] + 1;
    }
  }
  HR_TRY(HR_NEW_ARRAY(op->arena, rows, &chosen));
  for (int k = 0; k < count; k++) {
    hr_ints_t indices;
    HR_TRY(tf_const_ints(op, k, &indices));
    HR_TRY(stitched_rows(op, count, k, &rank, dims));
    expr_t x = tf_reshape(b, tf_in(op, count + k), rank, dims);
    if (!x) return hlo_builder_finish(b);
    for (int64_t i = 0; i < indices.count; i++)
      chosen[indices.data[i]] = tf_slice_dim(b, x, 0, i, i + 1);
  }
  from = chosen;
  for (int64_t i = 0; i < rows; i++)
    if (!from[i])
      return b->status ? hlo_builder_finish(b) : tf_unsupported(op, "rows that no index names");
  if (!rows) return tf_unsupported(op, "a result without rows");
  return tf_out(op, 0, tf_concat(b, (int)rows, chosen, 0));
}

/* List k as a vector; places past its size, and past all rows, are -1. */
static expr_t stitched_indices(tf_op_t *op, int k) {
  hlo_builder_t *b = op->b;
  expr_t list = tf_in(op, k);
  if (!list) return NULL;
  int64_t size = hlo_shape_elements(list->shape);
  return tf_reshape(b, tf_fill_all(b, list, tf_scalar_int(b, -1, list->shape->dtype)), 1, &size);
}

/* Rows of list k are scattered to their places in *x, after those of the lists before it. */
static hr_status_t stitch_list(tf_op_t *op, int count, int k, expr_t *x) {
  hlo_builder_t *b = op->b;
  int rank = 0;
  int64_t dims[HLO_MAX_RANK];
  expr_t indices = stitched_indices(op, k), rows = tf_in(op, count + k);
  HR_TRY(stitched_rows(op, count, k, &rank, dims));
  if (!indices || !rows) return hlo_builder_finish(b);
  int64_t column[] = {dims[0], 1};
  rows = tf_fill_all(b, rows, tf_scalar(b, 0, rows->shape->dtype));
  return tf_scatter_nd(op, *x, tf_reshape(b, indices, 2, column), tf_reshape(b, rows, rank, dims),
                       HLO_COPY, x);
}

/* The number of rows is the largest index and 1, and not more than there are indices, as each row
 * must have one. */
static hr_status_t stitch_by_data(tf_op_t *op, int count) {
  hlo_builder_t *b = op->b;
  int rank = 0;
  int64_t dims[HLO_MAX_RANK], total = 0, dim = 0;
  expr_t last = tf_scalar_int(b, -1, HR_S32), result;
  for (int k = 0; k < count; k++) {
    HR_TRY(stitched_rows(op, count, k, &rank, dims));
    total += dims[0];
    expr_t most = dims[0] ? tf_reduce(op, HLO_MAXIMUM, stitched_indices(op, k), 1, &dim, false)
                          : tf_scalar_int(b, -1, HR_S32);
    last = f_max(b, last, most);
  }
  if (!last) return hlo_builder_finish(b);
  expr_t rows = f_min(b, f_add(b, last, f_number(b, 1, last)), f_number(b, (double)total, last));
  int64_t bound = tf_upper_bound(op->scope->compiler, rows);
  dims[0] = bound >= 0 && bound < total ? bound : total;
  result = tf_fill(b, 0, tf_in_shape(op, count)->dtype, rank, dims);
  for (int k = 0; k < count; k++) HR_TRY(stitch_list(op, count, k, &result));
  HR_TRY(tf_cut_to(op, result, 0, rows, &result));
  return tf_out(op, 0, result);
}

/* DynamicStitch and ParallelDynamicStitch. Inputs: n lists of indices, n arrays of rows. Row
 * indices[i] of the result is row i; later ones win. The size follows from the indices, so that
 * those that are not known give a dynamic one. */
hr_status_t tf_lower_dynamic_stitch(tf_op_t *op) {
  int count = op->input_count / 2;
  bool all_known = true;
  for (int k = 0; k < count; k++) {
    hlo_value_t *known;
    HR_TRY(tf_const_if_known(op, k, &known));
    all_known = all_known && known;
  }
  return all_known ? stitch_known(op, count) : stitch_by_data(op, count);
}

/* SparseToDense: `default` everywhere but at the indices, which have one row per value. Inputs:
 * indices, sizes, values, default. */
hr_status_t tf_lower_sparse_to_dense(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_sizes_t sizes;
  expr_t indices = tf_in(op, 0), values = tf_in(op, 2), result;
  HR_TRY(tf_sizes_in(op, 1, &sizes));
  if (!indices || !values) return hlo_builder_finish(b);
  expr_t start = tf_broadcast_sized(b, tf_in(op, 3), &sizes);
  if (indices->shape->rank > 2)
    return tf_error(op, "indices of %d dimensions", indices->shape->rank);
  int64_t count = indices->shape->rank ? indices->shape->dims[0] : 1;
  int64_t wide[] = {count, indices->shape->rank == 2 ? indices->shape->dims[1] : 1};
  values = tf_broadcast(b, values, 1, &count);
  HR_TRY(tf_scatter_nd(op, start, tf_reshape(b, indices, 2, wide), values, HLO_COPY, &result));
  return tf_out(op, 0, result);
}
