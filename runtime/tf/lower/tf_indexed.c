/* Gathers, scatters, segments, and operations on diagonals. Indices outside an array are clamped by
 * gathers and dropped by scatters, as XLA does; TensorFlow's CPU kernels refuse them. */
#include "tf/compile/tf_lower.h"

/* Whether x may be a list of sizes, whose elements are then taken one by one, so that their bounds
 * are found. */
static bool is_list_of_sizes(expr_t x) {
  return x->shape->rank == 1 && hr_dtype_is_integer(x->shape->dtype) && x->op == HLO_CONCATENATE &&
         x->shape->dims[0] <= HLO_MAX_RANK;
}

/* Elements of a short list at constant places, clamped as a gather would: the list may be sizes,
 * which must stay known. */
static hr_status_t take_sizes(tf_op_t *op, expr_t x, const hlo_value_t *places) {
  expr_t parts[HLO_MAX_RANK];
  int count = (int)places->count;
  int64_t size = x->shape->dims[0], one = 1;
  if (count > HLO_MAX_RANK) return tf_unsupported(op, "%d sizes", count);
  for (int i = 0; i < count; i++) {
    int64_t at = hlo_value_int_at(places, i);
    at = at < 0 ? 0 : at;
    at = at >= size ? size - 1 : at;
    parts[i] = tf_reshape(op->b, tf_vector_element(op->b, x, at), 1, &one);
  }
  return tf_out(op, 0, tf_concat(op->b, count, parts, 0));
}

/* variant 0: Gather(params, indices); 1: GatherV2(params, indices, axis) with batch_dims.
 * result = params[:axis] + indices[batch_dims:] + params[axis + 1:] in terms of shapes. */
hr_status_t tf_lower_gather(tf_op_t *op) {
  int64_t axis = 0, batch = 0;
  int at, batch_dims = 0;
  expr_t x = tf_in(op, 0), indices = tf_in(op, 1);
  if (!x || !indices) return hlo_builder_finish(op->b);
  if (op->row->variant) {
    HR_TRY(tf_const_int(op, 2, &axis));
    HR_TRY(tf_attr_int(op->arena, op->node, "batch_dims", 0, &batch));
    if (batch) HR_TRY(tf_axis(op, batch, indices->shape->rank + 1, &batch_dims));
  }
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  if (batch_dims > at) return tf_error(op, "%d batch dimensions", batch_dims);
  if (is_list_of_sizes(x) && indices->shape->rank == 1) {
    hlo_value_t *known;
    HR_TRY(tf_const_if_known(op, 1, &known));
    if (known && known->count > 0) return take_sizes(op, x, known);
  }
  return tf_out(op, 0, tf_gather_rows(op->b, x, indices, at, batch_dims));
}

/* GatherNd. The last dimension of the indices addresses the first dimensions of x. With indices
 * [.., k], the result is indices[..] followed by x's dimensions from k on. The index of HLO's
 * gather is the vector along the last dimension. */
hr_status_t tf_lower_gather_nd(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t offsets[HLO_MAX_RANK], sizes[HLO_MAX_RANK], places[HLO_MAX_RANK];
  int64_t batch;
  int count = 0;
  expr_t x = tf_in(op, 0), indices = tf_in(op, 1);
  if (!x || !indices) return hlo_builder_finish(b);
  HR_TRY(tf_attr_int(op->arena, op->node, "batch_dims", 0, &batch));
  if (batch || !indices->shape->rank) return tf_unsupported(op, "batch dimensions");
  int last = indices->shape->rank - 1;
  int64_t depth = indices->shape->dims[last];
  if (depth > x->shape->rank) return tf_error(op, "%ld indices", (long)depth);
  for (int d = 0; d < x->shape->rank; d++) {
    sizes[d] = d < depth ? 1 : x->shape->dims[d];
    places[d] = d;
    if (d >= depth) offsets[count++] = last + d - depth;
  }
  hlo_attr_t attrs[] = {hlo_attr_of_ints(b, HLO_ATTR_OFFSET_DIMS, count, offsets),
                        hlo_attr_of_ints(b, HLO_ATTR_COLLAPSED_SLICE_DIMS, depth, places),
                        hlo_attr_of_ints(b, HLO_ATTR_START_INDEX_MAP, depth, places),
                        hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM, last),
                        hlo_attr_of_ints(b, HLO_ATTR_SLICE_SIZES, x->shape->rank, sizes)};
  expr_t operands[] = {x, indices};
  return tf_out(op, 0, hlo_build(b, HLO_GATHER, NULL, 2, operands, 5, attrs, 0, NULL));
}

/* --- scatters --- */

/* Computation (old, update) -> update.
 * Which of several updates of one place remains is not determined, as in TensorFlow. */
static hr_status_t overwrite_reducer(tf_op_t *op, hr_dtype_t dtype, hlo_computation_t **out) {
  hlo_builder_t inner;
  HR_TRY(tf_computation_begin(op->scope->compiler, "overwrite", &inner));
  hlo_build_parameter(&inner, 0, hlo_shape_scalar(dtype));
  expr_t update = hlo_build_parameter(&inner, 1, hlo_shape_scalar(dtype));
  *out = inner.computation;
  return tf_computation_end(op->scope->compiler, &inner, update);
}

/* update_window_dims are the dimensions of the updates after those of the indices; the first
 * `depth` dimensions of x are addressed and do not occur in a window. */
hr_status_t tf_scatter_nd(tf_op_t *op, expr_t x, expr_t indices, expr_t updates,
                          hlo_opcode_t combine, expr_t *out_x) {
  hlo_builder_t *b = op->b;
  hlo_computation_t *reducer;
  int64_t windows[HLO_MAX_RANK], places[HLO_MAX_RANK];
  int count = 0;
  if (!x || !indices || !updates) return hlo_builder_finish(b);
  if (!indices->shape->rank) return tf_error(op, "scalar indices");
  int last = indices->shape->rank - 1;
  int64_t depth = indices->shape->dims[last];
  if (depth > x->shape->rank) return tf_error(op, "%ld indices", (long)depth);
  /* Truth values are numbers modulo 2 here, as in TensorFlow. */
  if (combine == HLO_SUBTRACT && x->shape->dtype == HR_PRED) combine = HLO_XOR;
  if (combine == HLO_COPY)
    HR_TRY(overwrite_reducer(op, x->shape->dtype, &reducer));
  else
    reducer = tf_reducer(op, combine, x->shape->dtype);
  if (!reducer) return hlo_builder_finish(b);
  for (int d = 0; d < x->shape->rank; d++) {
    places[d] = d;
    if (d >= depth) windows[count++] = last + d - depth;
  }
  hlo_attr_t attrs[] = {hlo_attr_of_ints(b, HLO_ATTR_UPDATE_WINDOW_DIMS, count, windows),
                        hlo_attr_of_ints(b, HLO_ATTR_INSERTED_WINDOW_DIMS, depth, places),
                        hlo_attr_of_ints(b, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, depth, places),
                        hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM, last),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  expr_t operands[] = {x, indices, updates};
  *out_x = hlo_build(b, HLO_SCATTER, x->shape, 3, operands, 5, attrs, 1, &reducer);
  return hlo_builder_finish(b);
}

static hr_status_t scatter_nd(tf_op_t *op, expr_t x, expr_t indices, expr_t updates,
                              hlo_opcode_t combine) {
  expr_t result = NULL;
  HR_TRY(tf_scatter_nd(op, x, indices, updates, combine, &result));
  return tf_out(op, 0, result);
}

/* ScatterNd(indices, updates, shape): sums over duplicate indices, on zeros. */
hr_status_t tf_lower_scatter_nd(tf_op_t *op) {
  tf_sizes_t sizes;
  expr_t updates = tf_in(op, 1);
  HR_TRY(tf_sizes_in(op, 2, &sizes));
  if (!updates) return hlo_builder_finish(op->b);
  expr_t zero = tf_scalar(op->b, 0, updates->shape->dtype);
  expr_t zeros = tf_broadcast_sized(op->b, zero, &sizes);
  return scatter_nd(op, zeros, tf_in(op, 0), updates, HLO_ADD);
}

/* TensorScatterUpdate, Add, Sub, Max and Min; the tensor itself is not changed. Inputs: tensor,
 * indices, updates; variant: how updates combine. */
hr_status_t tf_lower_tensor_scatter(tf_op_t *op) {
  return scatter_nd(op, tf_in(op, 0), tf_in(op, 1), tf_in(op, 2), (hlo_opcode_t)op->row->variant);
}

/* --- diagonals --- */

/* MatrixBandPart(input, num_lower, num_upper) on the last two dimensions; the rest becomes 0. Keeps
 * elements with row - column within [-num_upper, num_lower]; a negative number is no bound. */
hr_status_t tf_lower_matrix_band_part(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t lower, upper;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_const_int(op, 1, &lower));
  HR_TRY(tf_const_int(op, 2, &upper));
  if (!x) return hlo_builder_finish(b);
  int rank = x->shape->rank;
  if (rank < 2) return tf_error(op, "no matrices");
  expr_t row = tf_iota_like(b, HR_S64, x, rank - 2);
  expr_t column = tf_iota_like(b, HR_S64, x, rank - 1);
  expr_t offset = f_sub(b, row, column);
  if (!offset) return hlo_builder_finish(b);
  expr_t keep = NULL;
  if (lower >= 0) keep = f_le(b, offset, f_number(b, (double)lower, offset));
  if (upper >= 0) {
    expr_t above = f_ge(b, offset, f_number(b, -(double)upper, offset));
    keep = keep ? f_and(b, keep, above) : above;
  }
  return tf_out(op, 0, keep ? f_select(b, keep, x, f_number(b, 0, x)) : x);
}

/* Mask of the main diagonal of matrices of this shape. */
static expr_t diagonal_mask(hlo_builder_t *b, int rank, const int64_t *dims) {
  return f_eq(b, tf_iota(b, HR_S32, rank, dims, rank - 2),
              tf_iota(b, HR_S32, rank, dims, rank - 1));
}

/* MatrixDiag: square matrices with x on the main diagonal. */
hr_status_t tf_lower_matrix_diag(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t dims[HLO_MAX_RANK], wide[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  int rank = x->shape->rank + 1;
  if (rank < 2 || rank > HLO_MAX_RANK) return tf_error(op, "%d dimensions", rank - 1);
  for (int d = 0; d < rank; d++) {
    dims[d] = x->shape->dims[d < rank - 1 ? d : rank - 2];
    wide[d] = d < rank - 1 ? x->shape->dims[d] : 1;
  }
  expr_t spread = tf_broadcast(b, tf_reshape(b, x, rank, wide), rank, dims);
  return tf_out(
      op, 0,
      spread ? f_select(b, diagonal_mask(b, rank, dims), spread, f_number(b, 0, spread)) : NULL);
}

/* MatrixDiagPart: the diagonal is the sum over columns of the matrix with zeros elsewhere, after
 * it has been cut to a square. */
hr_status_t tf_lower_matrix_diag_part(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  int rank = x->shape->rank;
  if (rank < 2) return tf_error(op, "no matrices");
  int64_t size = x->shape->dims[rank - 2] < x->shape->dims[rank - 1] ? x->shape->dims[rank - 2]
                                                                     : x->shape->dims[rank - 1];
  x = tf_slice_dim(b, tf_slice_dim(b, x, rank - 2, 0, size), rank - 1, 0, size);
  if (!x) return hlo_builder_finish(b);
  expr_t masked = f_select(b, diagonal_mask(b, rank, x->shape->dims), x, f_number(b, 0, x));
  int64_t last = rank - 1;
  return tf_out(op, 0, tf_reduce(op, HLO_ADD, masked, 1, &last, false));
}

/* TopKV2(input, k) -> (values, indices). The k largest of the last dimension, and their positions,
 * in order. Of equal elements the one with the lower index comes first. */
hr_status_t tf_lower_top_k(tf_op_t *op) {
  tf_sizes_t k;
  hr_dtype_t index_type;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_sizes_in(op, 1, &k));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "index_type", &index_type));
  if (!x) return hlo_builder_finish(op->b);
  int last = x->shape->rank - 1;
  if (k.rank != 1 || last < 0) return tf_error(op, "want a vector and a number");
  bool cuts = k.exprs[0] != NULL;
  if (cuts)
    x = tf_fill_dynamic(op, x, last, tf_identity_value(op->b, HLO_MAXIMUM, x->shape->dtype));
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_K, k.dims[0]),
                        hlo_attr_of_bool(HLO_ATTR_LARGEST, true),
                        hlo_attr_of_bool(HLO_ATTR_IS_STABLE, true)};
  expr_t pair = hlo_build(op->b, HLO_TOPK, NULL, 1, &x, 3, attrs, 0, NULL);
  expr_t values = hlo_build_element(op->b, pair, 0), indices = hlo_build_element(op->b, pair, 1);
  if (cuts) values = tf_set_size(op->b, values, last, k.exprs[0]);
  if (cuts) indices = tf_set_size(op->b, indices, last, k.exprs[0]);
  HR_TRY(tf_out(op, 0, values));
  if (indices && index_type != HR_TUPLE) indices = hlo_build_convert(op->b, indices, index_type);
  return tf_out(op, 1, indices);
}
