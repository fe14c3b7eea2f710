/* Elements that change places: transposes, reversals, rotations, and blocks that move between
 * dimensions. */
#include "tf/compile/tf_lower.h"

/* Transpose(x, perm); variant 1, ConjugateTranspose, conjugates too. */
hr_status_t tf_lower_transpose(tf_op_t *op) {
  hr_ints_t permutation;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_ints(op, 1, &permutation));
  if (permutation.count != x->shape->rank)
    return tf_error(op, "%ld dimensions to transpose of %d", (long)permutation.count,
                    x->shape->rank);
  expr_t result = tf_transpose(op->b, x, permutation.data);
  if (op->row->variant && hr_dtype_is_complex(x->shape->dtype))
    result = hlo_build_binary(op->b, HLO_COMPLEX, hlo_build_unary(op->b, HLO_REAL, result),
                              f_neg(op->b, hlo_build_unary(op->b, HLO_IMAG, result)));
  return tf_out(op, 0, result);
}

/* Scatters the position of each index to the place that the index names. */
static hr_status_t invert_at_run_time(tf_op_t *op) {
  expr_t x = tf_in(op, 0), inverse;
  if (!x) return hlo_builder_finish(op->b);
  if (x->shape->rank != 1) return tf_error(op, "a permutation of %d dimensions", x->shape->rank);
  const int64_t *size = x->shape->dims;
  expr_t places = tf_iota(op->b, x->shape->dtype, 1, size, 0);
  expr_t indices = tf_reshape(op->b, x, 2, (int64_t[]){*size, 1});
  expr_t start = tf_fill(op->b, 0, x->shape->dtype, 1, size);
  HR_TRY(tf_scatter_nd(op, start, indices, places, HLO_COPY, &inverse));
  return tf_out(op, 0, inverse);
}

/* InvertPermutation: y[x[i]] = i. Duplicates are not looked for. */
hr_status_t tf_lower_invert_permutation(tf_op_t *op) {
  hr_ints_t in;
  int64_t *inverse;
  hlo_value_t *value;
  HR_TRY(tf_const_if_known(op, 0, &value));
  if (!value) return invert_at_run_time(op);
  HR_TRY(tf_const_ints(op, 0, &in));
  HR_TRY(HR_NEW_ARRAY(op->arena, in.count, &inverse));
  for (int64_t i = 0; i < in.count; i++) {
    if (in.data[i] < 0 || in.data[i] >= in.count) return tf_error(op, "no permutation");
    inverse[in.data[i]] = i;
  }
  return tf_out_ints(op, 0, value->dtype, false, in.count, inverse);
}

/* Inputs: indices, dims. UnravelIndex: row d has the coordinates of the flat indices along
 * dimension d of an array with these dims. Indices outside are not looked for. */
hr_status_t tf_lower_unravel_index(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t rest = tf_in(op, 0), dims = tf_in(op, 1), rows[HLO_MAX_RANK];
  int at;
  if (!rest || !dims) return hlo_builder_finish(b);
  int64_t rank = hlo_shape_elements(dims->shape);
  if (dims->shape->rank != 1 || rank < 1 || rank > HLO_MAX_RANK || rest->shape->rank > 1)
    return tf_error(op, "want an index or a vector of indices, and 1 to %d dims", HLO_MAX_RANK);
  for (int d = (int)rank - 1; d >= 0; d--) {
    expr_t size = tf_broadcast_like(b, tf_vector_element(b, dims, d), rest);
    HR_TRY(tf_expand_dim(op, f_rem(b, rest, size), 0, &at, &rows[d]));
    rest = f_div(b, rest, size);
  }
  return tf_out(op, 0, tf_concat(b, (int)rank, rows, 0));
}

/* variant 0: Reverse with flags; 1: ReverseV2 with axes. */
hr_status_t tf_lower_reverse(tf_op_t *op) {
  hr_ints_t list;
  int64_t dims[HLO_MAX_RANK];
  int count = 0, at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_ints(op, 1, &list));
  for (int64_t i = 0; i < list.count && count < HLO_MAX_RANK; i++) {
    if (op->row->variant) {
      HR_TRY(tf_axis(op, list.data[i], x->shape->rank, &at));
      dims[count++] = at;
    } else if (list.data[i]) {
      dims[count++] = i;
    }
  }
  HR_TRY(tf_reverse(op, x, count, dims, &x));
  return tf_out(op, 0, x);
}

/* Joins x to itself along a dimension, and takes the part that begins `shift` places before the
 * middle. */
static expr_t roll_by(hlo_builder_t *b, expr_t x, int at, expr_t shift) {
  expr_t twice[] = {x, x}, starts[HLO_MAX_RANK];
  int64_t size = x->shape->dims[at];
  expr_t rest = f_rem(b, shift, f_number(b, (double)size, shift)), zero = f_number(b, 0, rest);
  rest = f_select(b, f_gt(b, rest, zero), f_sub(b, f_number(b, (double)size, rest), rest),
                  f_sub(b, zero, rest));
  for (int d = 0; d < x->shape->rank; d++) starts[d] = d == at ? rest : zero;
  return tf_dynamic_slice(b, tf_concat(b, 2, twice, at), starts, x->shape->dims);
}

/* Element i of a vector, or the scalar itself. */
static expr_t element_of(hlo_builder_t *b, expr_t x, int64_t i) {
  return x->shape->rank ? tf_reshape(b, tf_slice_dim(b, x, 0, i, i + 1), 0, NULL) : x;
}

/* Roll whose shifts depend on data; the axes are constants. */
static hr_status_t roll_at_run_time(tf_op_t *op) {
  hr_ints_t axes;
  int at;
  expr_t x = tf_in(op, 0), shifts = tf_in(op, 1);
  HR_TRY(tf_const_ints(op, 2, &axes));
  if (!x || !shifts) return hlo_builder_finish(op->b);
  if (shifts->shape->rank > 1 || (shifts->shape->rank && shifts->shape->dims[0] != axes.count))
    return tf_error(op, "as many shifts as axes are needed");
  for (int64_t i = 0; i < axes.count && x; i++) {
    HR_TRY(tf_axis(op, axes.data[i], x->shape->rank, &at));
    if (x->shape->dims[at]) x = roll_by(op->b, x, at, element_of(op->b, shifts, i));
  }
  return tf_out(op, 0, x);
}

/* Rotation along axes: the last `shift` elements come first. */
hr_status_t tf_lower_roll(tf_op_t *op) {
  hr_ints_t shifts, axes;
  hlo_value_t *known;
  int at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_if_known(op, 1, &known));
  if (!known) return roll_at_run_time(op);
  HR_TRY(tf_const_ints(op, 1, &shifts));
  HR_TRY(tf_const_ints(op, 2, &axes));
  for (int64_t i = 0; i < axes.count && i < shifts.count && x; i++) {
    HR_TRY(tf_axis(op, axes.data[i], x->shape->rank, &at));
    int64_t size = x->shape->dims[at];
    int64_t shift = size ? ((shifts.data[i] % size) + size) % size : 0;
    if (!shift) continue;
    expr_t parts[] = {tf_slice_dim(op->b, x, at, size - shift, size),
                      tf_slice_dim(op->b, x, at, 0, size - shift)};
    x = tf_concat(op->b, 2, parts, at);
  }
  return tf_out(op, 0, x);
}

/* --- blocks --- */

/* variant 0: DepthToSpace, 1: SpaceToDepth, data format NHWC or NCHW.
 * The depth of a pixel is split as [block row, block column, channel] in both directions. NCHW
 * is turned to NHWC and back. */
hr_status_t tf_lower_depth_space(tf_op_t *op) {
  int64_t block;
  hr_str_t format;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_attr_int(op->arena, op->node, "block_size", 2, &block));
  HR_TRY(tf_attr_str(op->arena, op->node, "data_format", "NHWC", &format));
  if (x->shape->rank != 4 || block < 1) return tf_unsupported(op, "data format or block size");
  static const int64_t to_last[] = {0, 2, 3, 1}, to_first[] = {0, 3, 1, 2};
  bool first = hr_str_is(format, "NCHW");
  if (first) x = tf_transpose(op->b, x, to_last);
  if (!x) return hlo_builder_finish(op->b);
  const int64_t *n = x->shape->dims;
  int64_t h = n[1], w = n[2], c = n[3];
  if (op->row->variant) {
    int64_t split[] = {n[0], h / block, block, w / block, block, c};
    int64_t joined[] = {n[0], h / block, w / block, block * block * c};
    static const int64_t order[] = {0, 1, 3, 2, 4, 5};
    x = tf_reshape(op->b, tf_transpose(op->b, tf_reshape(op->b, x, 6, split), order), 4, joined);
  } else {
    int64_t depth = c / (block * block);
    int64_t split[] = {n[0], h, w, block, block, depth};
    int64_t joined[] = {n[0], h * block, w * block, depth};
    static const int64_t order[] = {0, 1, 3, 2, 4, 5};
    x = tf_reshape(op->b, tf_transpose(op->b, tf_reshape(op->b, x, 6, split), order), 4, joined);
  }
  return tf_out(op, 0, first ? tf_transpose(op->b, x, to_first) : x);
}

/* Block sizes and edges: inputs 1 and 2; variant 1: one block size as an attribute for two spatial
 * dimensions, and edges as input 1. */
static hr_status_t read_blocks(tf_op_t *op, hr_ints_t *out_block, hr_ints_t *out_edges) {
  int64_t size;
  if (!op->row->variant) {
    HR_TRY(tf_const_ints(op, 1, out_block));
    return tf_const_ints(op, 2, out_edges);
  }
  HR_TRY(tf_attr_int(op->arena, op->node, "block_size", 2, &size));
  int64_t both[] = {size, size};
  HR_TRY(hr_arena_ints(op->arena, both, 2, out_block));
  return tf_const_ints(op, 1, out_edges);
}

/* SpaceToBatchND: pad, cut each spatial dimension into blocks, blocks in front of the batch.
 * The reshape makes [batch, h / bh, bh, w / bw, bw, ...]; the transpose moves bh, bw to the
 * front. */
hr_status_t tf_lower_space_to_batch(tf_op_t *op) {
  hr_ints_t block, paddings;
  int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0};
  int64_t split[HLO_MAX_RANK], order[HLO_MAX_RANK], joined[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(read_blocks(op, &block, &paddings));
  int m = (int)block.count, rank = x->shape->rank, at = 0;
  if (paddings.count != 2 * m || m + 1 > rank || rank + m > HLO_MAX_RANK)
    return tf_error(op, "%d blocks", m);
  for (int i = 0; i < m; i++)
    if (block.data[i] < 1) return tf_error(op, "a block of %ld", (long)block.data[i]);
  for (int i = 0; i < m; i++) {
    low[i + 1] = paddings.data[2 * i];
    high[i + 1] = paddings.data[2 * i + 1];
  }
  x = tf_pad(op->b, x, tf_scalar(op->b, 0, x->shape->dtype), low, high, NULL);
  if (!x) return hlo_builder_finish(op->b);
  split[at++] = x->shape->dims[0];
  joined[0] = x->shape->dims[0];
  for (int i = 0; i < m; i++) {
    split[at++] = x->shape->dims[i + 1] / block.data[i];
    split[at++] = block.data[i];
    joined[i + 1] = split[at - 2];
    joined[0] *= block.data[i];
  }
  for (int d = m + 1; d < rank; d++) {
    split[at++] = x->shape->dims[d];
    joined[d] = x->shape->dims[d];
  }
  for (int i = 0; i < m; i++) order[i] = 2 + 2 * i;
  order[m] = 0;
  for (int i = 0; i < m; i++) order[m + 1 + i] = 1 + 2 * i;
  for (int d = 2 * m + 1; d < at; d++) order[d] = d;
  x = tf_transpose(op->b, tf_reshape(op->b, x, at, split), order);
  return tf_out(op, 0, tf_reshape(op->b, x, rank, joined));
}

/* BatchToSpaceND: the opposite, then crops.
 * crops is [m, 2]: elements that are cut off at both ends of each spatial dimension. */
hr_status_t tf_lower_batch_to_space(tf_op_t *op) {
  hr_ints_t block, crops;
  int64_t split[HLO_MAX_RANK], order[HLO_MAX_RANK], joined[HLO_MAX_RANK];
  int64_t starts[HLO_MAX_RANK] = {0}, limits[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(read_blocks(op, &block, &crops));
  int m = (int)block.count, rank = x->shape->rank, at = 0;
  int64_t batch = x->shape->dims[0];
  if (crops.count != 2 * m || m + 1 > rank || rank + m > HLO_MAX_RANK)
    return tf_error(op, "%d blocks", m);
  for (int i = 0; i < m; i++)
    if (block.data[i] < 1) return tf_error(op, "a block of %ld", (long)block.data[i]);
  for (int i = 0; i < m; i++) {
    split[at++] = block.data[i];
    batch /= block.data[i];
  }
  split[at++] = batch;
  joined[0] = batch;
  order[0] = m;
  for (int d = 1; d < rank; d++) {
    split[at++] = x->shape->dims[d];
    joined[d] = x->shape->dims[d] * (d <= m ? block.data[d - 1] : 1);
    if (d <= m) {
      order[2 * d - 1] = m + d;
      order[2 * d] = d - 1;
    } else {
      order[m + d] = m + d;
    }
  }
  x = tf_transpose(op->b, tf_reshape(op->b, x, at, split), order);
  x = tf_reshape(op->b, x, rank, joined);
  for (int d = 0; d < rank; d++) {
    bool cropped = d >= 1 && d <= m;
    starts[d] = cropped ? crops.data[2 * (d - 1)] : 0;
    limits[d] = joined[d] - (cropped ? crops.data[2 * (d - 1) + 1] : 0);
  }
  return tf_out(op, 0, tf_slice(op->b, x, starts, limits, NULL));
}
