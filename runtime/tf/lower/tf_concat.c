/* Arrays that are joined and split: Concat, Pack, Split, Tile. Axes and counts are compile-time
 * constants. */
#include "tf/compile/tf_lower.h"

/* variant 0: the axis is the first input (Concat); 1: the last one (ConcatV2). */
hr_status_t tf_lower_concat(tf_op_t *op) {
  int count = op->input_count - 1;
  int first = op->row->variant ? 0 : 1;
  int64_t axis;
  int at, used = 0;
  expr_t *x;
  if (count < 1) return tf_error(op, "nothing to concatenate");
  HR_TRY(tf_const_int(op, op->row->variant ? count : 0, &axis));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &x));
  for (int k = 0; k < count; k++) {
    expr_t part = tf_in(op, first + k);
    if (!part) return hlo_builder_finish(op->b);
    HR_TRY(tf_axis(op, axis, part->shape->rank, &at));
    x[used++] = part;
  }
  return tf_out(op, 0, tf_concat(op->b, used, x, at));
}

/* ConcatOffset(concat_dim, shapes...): output k is where input k starts in the concatenation. */
hr_status_t tf_lower_concat_offset(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t axis;
  int d;
  HR_TRY(tf_const_int(op, 0, &axis));
  hr_dtype_t dtype = op->input_count > 1 ? tf_in_dtype(op, 1) : HR_S32;
  tf_sizes_t offsets = {0};
  for (int k = 1; k < op->input_count; k++) {
    tf_sizes_t sizes;
    HR_TRY(tf_sizes_in(op, k, &sizes));
    HR_TRY(tf_axis(op, axis, sizes.rank, &d));
    offsets.rank = sizes.rank;
    expr_t at = offsets.exprs[d], size = sizes.exprs[d];
    if (at)
      HR_TRY(tf_out(op, k - 1, tf_sizes_vector(b, &offsets, dtype)));
    else
      HR_TRY(tf_out_ints(op, k - 1, dtype, false, offsets.rank, offsets.dims));
    if (size && !at) at = tf_scalar_int(b, offsets.dims[d], HR_S32);
    if (at && !size) size = tf_scalar_int(b, sizes.dims[d], HR_S32);
    if (at) offsets.exprs[d] = f_add(b, at, size);
    offsets.dims[d] += sizes.dims[d];
  }
  return NULL;
}

/* Pack: joins arrays of equal shape along a new dimension `axis`. */
hr_status_t tf_lower_pack(tf_op_t *op) {
  int64_t axis;
  int at = 0;
  expr_t *x;
  HR_TRY(tf_attr_int(op->arena, op->node, "axis", 0, &axis));
  HR_TRY(HR_NEW_ARRAY(op->arena, op->input_count, &x));
  for (int k = 0; k < op->input_count; k++) {
    expr_t part = tf_in(op, k);
    if (!part) return hlo_builder_finish(op->b);
    HR_TRY(tf_expand_dim(op, part, axis, &at, &x[k]));
  }
  return tf_out(op, 0, tf_concat(op->b, op->input_count, x, at));
}

/* Unpack: output i is element i along `axis`, without that dimension. */
hr_status_t tf_lower_unpack(tf_op_t *op) {
  int64_t axis, count, dims[HLO_MAX_RANK];
  int at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_attr_int(op->arena, op->node, "axis", 0, &axis));
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  for (int d = 0; d + 1 < x->shape->rank; d++) dims[d] = x->shape->dims[d < at ? d : d + 1];
  if (x->shape->dims[at] > TF_MAX_PARTS)
    return tf_unsupported(op, "%ld parts", (long)x->shape->dims[at]);
  HR_TRY(tf_attr_int(op->arena, op->node, "num", x->shape->dims[at], &count));
  if (count != x->shape->dims[at])
    return hr_error(HR_INVALID, "attribute num is %ld, dimension %d has the size %ld", (long)count,
                    at, (long)x->shape->dims[at]);
  HR_TRY(tf_need_outputs(op, (int)count));
  for (int64_t i = 0; i < count; i++) {
    expr_t part = tf_slice_dim(op->b, x, at, i, i + 1);
    HR_TRY(tf_out(op, (int)i, tf_reshape(op->b, part, x->shape->rank - 1, dims)));
  }
  return NULL;
}

/* variant 0: Split(axis, x); 1: SplitV(x, sizes, axis), of which one size may be -1. */
hr_status_t tf_lower_split(tf_op_t *op) {
  bool sized = op->row->variant;
  int64_t axis, count, start = 0, known = 0;
  int at;
  hr_ints_t sizes = {0};
  expr_t x = tf_in(op, sized ? 0 : 1);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_int(op, sized ? 2 : 0, &axis));
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  HR_TRY(tf_attr_int(op->arena, op->node, "num_split", 1, &count));
  if (sized) HR_TRY(tf_const_ints(op, 1, &sizes));
  if (sized) count = sizes.count;
  int64_t total = x->shape->dims[at];
  if (count < 1 || count > TF_MAX_PARTS || (!sized && total % count))
    return tf_error(op, "%ld parts", (long)count);
  HR_TRY(tf_need_outputs(op, (int)count));
  for (int64_t i = 0; i < sizes.count; i++) known += sizes.data[i] < 0 ? 0 : sizes.data[i];
  for (int64_t i = 0; i < count; i++) {
    int64_t size = sized ? sizes.data[i] : total / count;
    if (size < 0) size = total - known;
    if (size < 0 || start + size > total)
      return tf_error(op, "the sizes do not fit %ld", (long)total);
    HR_TRY(tf_out(op, (int)i, tf_slice_dim(op->b, x, at, start, start + size)));
    start += size;
  }
  return NULL;
}

/* The array joined with itself as often as each multiple says, for sizes known at run time only. */
static hr_status_t repeat_dynamic(tf_op_t *op, expr_t x, const int64_t *multiples) {
  for (int d = 0; d < x->shape->rank; d++) {
    expr_t *parts;
    int64_t count = multiples[d];
    if (count < 1 || count > TF_MAX_PARTS)
      return tf_unsupported(op, "%ld repetitions", (long)count);
    HR_TRY(HR_NEW_ARRAY(op->arena, count, &parts));
    for (int64_t i = 0; i < count; i++) parts[i] = x;
    x = tf_concat(op->b, (int)count, parts, d);
    if (!x) break;
  }
  return tf_out(op, 0, x);
}

/* A new dimension before each one that repeats: [2,3] by (1,4) is [2,1,3], [2,4,3], then [2,12]. */
static hr_status_t repeat_static(tf_op_t *op, expr_t x, const int64_t *multiples) {
  int64_t split[2 * HLO_MAX_RANK], repeated[2 * HLO_MAX_RANK], dims[HLO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    int64_t size = x->shape->dims[d];
    if (multiples[d] < 0 || __builtin_mul_overflow(size, multiples[d], &dims[d]))
      return tf_error(op, "%ld repetitions", (long)multiples[d]);
    if (multiples[d] != 1) {
      split[rank] = 1;
      repeated[rank++] = multiples[d];
    }
    split[rank] = size;
    repeated[rank++] = size;
  }
  if (rank > HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  expr_t apart = tf_reshape(op->b, x, rank, split);
  expr_t all = tf_broadcast(op->b, apart, rank, repeated);
  return tf_out(op, 0, tf_reshape(op->b, all, x->shape->rank, dims));
}

/* Multiples that depend on data, where x has one element along the dimension. */
static hr_status_t repeat_by_sizes(tf_op_t *op, expr_t x, const tf_sizes_t *multiples) {
  tf_sizes_t sizes = tf_sizes_of(op->b, x);
  for (int d = 0; d < sizes.rank; d++) {
    if (!multiples->exprs[d] && multiples->dims[d] == 1) continue;
    if (sizes.dims[d] != 1)
      return tf_unsupported(op, "repetitions of %ld elements, whose number depends on data",
                            (long)sizes.dims[d]);
    sizes.dims[d] = multiples->dims[d];
    sizes.exprs[d] = multiples->exprs[d];
  }
  return tf_out(op, 0, tf_broadcast_sized(op->b, x, &sizes));
}

/* Tile(input, multiples). */
hr_status_t tf_lower_tile(tf_op_t *op) {
  tf_sizes_t multiples;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_sizes_in(op, 1, &multiples));
  if (!x) return hlo_builder_finish(op->b);
  if (multiples.rank != x->shape->rank) return tf_error(op, "%d multiples", multiples.rank);
  for (int d = 0; d < multiples.rank; d++)
    if (multiples.exprs[d]) return repeat_by_sizes(op, x, &multiples);
  return hlo_shape_is_dynamic(x->shape) ? repeat_dynamic(op, x, multiples.dims)
                                        : repeat_static(op, x, multiples.dims);
}
