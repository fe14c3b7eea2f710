/* Matrix products. Those with batch dimensions become one dot_general. */
#include "tf/compile/tf_lower.h"

/* Batched product; leading dimensions broadcast.
 * [.., m, k] times [.., k, n]: the last dimension of x is contracted with the one before the
 * last of y. */
static expr_t batch_matmul(hlo_builder_t *b, expr_t x, expr_t y) {
  int64_t xd[HLO_MAX_RANK], yd[HLO_MAX_RANK];
  if (!x || !y) return NULL;
  int xr = x->shape->rank, yr = y->shape->rank;
  int rank = xr > yr ? xr : yr;
  for (int d = 0; d < rank; d++) {
    int64_t xn = d < rank - xr ? 1 : x->shape->dims[d - (rank - xr)];
    int64_t yn = d < rank - yr ? 1 : y->shape->dims[d - (rank - yr)];
    bool is_batch = d < rank - 2;
    xd[d] = is_batch && xn == 1 ? yn : xn;
    yd[d] = is_batch && yn == 1 ? xn : yn;
  }
  x = tf_broadcast(b, x, rank, xd);
  y = tf_broadcast(b, y, rank, yd);
  return tf_multiply_matrices(b, x, y);
}

/* MatMul transposes by transpose_a and transpose_b. BatchMatMul (variant 1) has adj_x and adj_y,
 * which also conjugate. The result has the type Tout; SparseMatMul (variant 2) gives f32. */
hr_status_t tf_lower_matmul(tf_op_t *op) {
  bool batch = op->row->variant == 1;
  bool left, right;
  hr_dtype_t dtype;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "Tout", &dtype));
  if (op->row->variant == 2) dtype = HR_F32;
  HR_TRY(tf_attr_bool(op->arena, op->node, batch ? "adj_x" : "transpose_a", false, &left));
  HR_TRY(tf_attr_bool(op->arena, op->node, batch ? "adj_y" : "transpose_b", false, &right));
  expr_t x = tf_in(op, 0);
  expr_t y = tf_in(op, 1);
  if (!x || !y) return hlo_builder_finish(op->b);
  if (x->shape->rank < 2 || y->shape->rank < 2) return tf_error(op, "a product of vectors");
  bool narrows = hr_dtype_is_integer(dtype) && hr_dtype_is_float(x->shape->dtype);
  if (dtype != HR_TUPLE && !narrows) x = hlo_build_convert(op->b, x, dtype);
  if (dtype != HR_TUPLE && !narrows) y = hlo_build_convert(op->b, y, dtype);
  if (left) x = batch ? tf_adjoint(op->b, x) : tf_transpose_matrices(op->b, x);
  if (right) y = batch ? tf_adjoint(op->b, y) : tf_transpose_matrices(op->b, y);
  expr_t product = batch_matmul(op->b, x, y);
  return tf_out(op, 0, narrows && product ? hlo_build_convert(op->b, product, dtype) : product);
}
