/* Eigenvalues, singular values, LU, determinants and tridiagonal systems, by LAPACK's routines as
 * custom calls, which both engines know. Matrices of types narrower than f32 are computed in f32.
 * Signs of vectors are those of LAPACK, not those of TensorFlow. */
#include "tf/lower/tf_loops.h"

/* LAPACK's letter for a type. */
static char letter_of(hr_dtype_t dtype) {
  switch (dtype) {
    case HR_F64:
      return 'd';
    case HR_C64:
      return 'c';
    case HR_C128:
      return 'z';
    default:
      return 's';
  }
}

static hr_dtype_t real_type(hr_dtype_t dtype) {
  if (dtype == HR_C64) return HR_F32;
  return dtype == HR_C128 ? HR_F64 : dtype;
}

/* A batch of matrices in a type that LAPACK has; *out_dtype is that of the input. */
static hr_status_t take_matrix(tf_op_t *op, int k, expr_t *out, hr_dtype_t *out_dtype) {
  expr_t x = tf_in(op, k);
  if (!x) return hlo_builder_finish(op->b);
  if (x->shape->rank < 2)
    return tf_error(op, "an array of %d dimensions, want matrices", x->shape->rank);
  *out_dtype = x->shape->dtype;
  bool narrow = hr_dtype_is_float(*out_dtype) && hr_dtype_table[*out_dtype].bits < 32;
  *out = narrow ? hlo_build_convert(op->b, x, HR_F32) : x;
  return hlo_builder_finish(op->b);
}

/* An array with the batch dimensions of x and `count` more. */
static const hlo_shape_t *with_batch(hlo_builder_t *b, expr_t x, hr_dtype_t dtype, int count,
                                     int64_t first, int64_t second) {
  int64_t dims[HLO_MAX_RANK];
  int rank = x->shape->rank - 2, more = rank;
  for (int d = 0; d < rank; d++) dims[d] = x->shape->dims[d];
  if (count > 0) dims[more++] = first;
  if (count > 1) dims[more++] = second;
  return tf_shape(b, dtype, more, dims);
}

/* LAPACK's matrices are column-major: the shape with this layout if it has `rank` dimensions, as
 * matrices have; vectors have one less. */
static hr_status_t by_column(hr_arena_t *arena, const hlo_shape_t *shape, int rank,
                             const hlo_shape_t **out) {
  hlo_layout_t *layout;
  int64_t order[HLO_MAX_RANK];
  *out = shape;
  if (shape->rank != rank) return NULL;
  HR_TRY(HR_NEW(arena, &layout));
  for (int d = 0; d < rank; d++) order[d] = rank - 1 - d;
  order[0] = rank - 2;
  order[1] = rank - 1;
  HR_TRY(hr_arena_ints(arena, order, rank, &layout->minor_to_major));
  return hlo_shape_with_layout(arena, shape, layout, out);
}

/* The layouts of operands and results; arrays with `rank` dimensions are matrices. */
static hr_status_t by_columns(hr_arena_t *arena, int operand_count, expr_t const *operands,
                              int result_count, const hlo_shape_t **results, int rank,
                              hlo_shapes_t **out_operands) {
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW(arena, out_operands));
  HR_TRY(HR_NEW_ARRAY(arena, operand_count, &shapes));
  for (int k = 0; k < operand_count; k++)
    HR_TRY(by_column(arena, operands[k]->shape, rank, &shapes[k]));
  for (int k = 0; k < result_count; k++) HR_TRY(by_column(arena, results[k], rank, &results[k]));
  **out_operands = (hlo_shapes_t){operand_count, shapes};
  return NULL;
}

/* A call of "lapack_<letter><routine>_ffi". */
typedef struct lapack_call {
  const char *routine, *config; /* name without its letter; options */
  int rank;                     /* dimensions of a matrix with its batch */
  int operand_count, result_count;
  expr_t const *operands;
  const hlo_shape_t **results; /* get column-major layouts */
} lapack_call_t;

/* A call with one operand. */
static lapack_call_t call_of(const char *routine, const char *config, const expr_t *x,
                             int result_count, const hlo_shape_t **results) {
  return (lapack_call_t){.routine = routine,
                         .config = config,
                         .rank = (*x)->shape->rank,
                         .operand_count = 1,
                         .operands = x,
                         .result_count = result_count,
                         .results = results};
}

static hr_status_t call_lapack(tf_op_t *op, const lapack_call_t *call, expr_t *out) {
  const hlo_shape_t *tuple;
  hlo_shapes_t *layouts;
  const char *target;
  hlo_extra_t *extra;
  const hlo_extra_t *outer = op->b->extra;
  char letter = letter_of(call->operands[0]->shape->dtype);
  for (int i = 0; i < call->result_count; i++)
    if (!call->results[i]) return hlo_builder_finish(op->b);
  HR_TRY(hr_arena_printf(op->arena, &target, "lapack_%c%s_ffi", letter, call->routine));
  HR_TRY(HR_NEW(op->arena, &extra));
  if (outer) *extra = *outer;
  extra->backend_config = hr_str_from(call->config);
  HR_TRY(by_columns(op->arena, call->operand_count, call->operands, call->result_count,
                    call->results, call->rank, &layouts));
  HR_TRY(hlo_shape_tuple(op->arena, call->result_count, call->results, &tuple));
  hlo_attr_t attrs[] = {
      {.key = HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS, .shapes = layouts},
      hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, hr_str_from(target)),
      hlo_attr_of_int(HLO_ATTR_CUSTOM_CALL_API_VERSION, HLO_API_VERSION_TYPED_FFI)};
  op->b->extra = extra;
  *out = hlo_build(op->b, HLO_CUSTOM_CALL, tuple, call->operand_count, call->operands, 3, attrs, 0,
                   NULL);
  op->b->extra = outer;
  return hlo_builder_finish(op->b);
}

static hr_status_t give(tf_op_t *op, int k, expr_t x, hr_dtype_t dtype) {
  if (x && x->shape->dtype != dtype) x = hlo_build_convert(op->b, x, dtype);
  return tf_out(op, k, x);
}

/* Eigenvalues in ascending order, and vectors as columns. SelfAdjointEigV2, and XlaSelfAdjointEig
 * (variant 1), whose attribute `lower` tells the triangle that is read. */
hr_status_t tf_lower_self_adjoint_eig(tf_op_t *op) {
  hr_dtype_t dtype;
  bool lower, vectors;
  expr_t x, all;
  HR_TRY(take_matrix(op, 0, &x, &dtype));
  HR_TRY(tf_attr_bool(op->arena, op->node, "lower", true, &lower));
  HR_TRY(tf_attr_bool(op->arena, op->node, "compute_v", true, &vectors));
  int rank = x->shape->rank;
  int64_t n = x->shape->dims[rank - 1];
  if (n != x->shape->dims[rank - 2]) return tf_error(op, "the matrices are not square");
  bool complex_type = hr_dtype_is_complex(dtype);
  const hlo_shape_t *results[] = {x->shape,
                                  with_batch(op->b, x, real_type(x->shape->dtype), 1, n, 0),
                                  with_batch(op->b, x, HR_S32, 0, 0, 0)};
  const char *config =
      lower ? "{mode = 86 : ui8, uplo = 76 : ui8}" : "{mode = 86 : ui8, uplo = 85 : ui8}";
  lapack_call_t call = call_of(complex_type ? "heevd" : "syevd", config, &x, 3, results);
  HR_TRY(call_lapack(op, &call, &all));
  HR_TRY(give(op, 0, hlo_build_element(op->b, all, 1), dtype));
  int64_t none = 0;
  if (!vectors) return tf_out(op, 1, tf_fill(op->b, 0, dtype, 1, &none));
  return give(op, 1, hlo_build_element(op->b, all, 0), dtype);
}

/* outputs: singular values in descending order, left and right vectors as columns. Svd, attributes
 * full_matrices and compute_uv; XlaSvd (variant 1) has square factors. */
hr_status_t tf_lower_svd(tf_op_t *op) {
  hr_dtype_t dtype;
  bool full, vectors;
  expr_t x, all;
  HR_TRY(take_matrix(op, 0, &x, &dtype));
  HR_TRY(tf_attr_bool(op->arena, op->node, "full_matrices", op->row->variant, &full));
  HR_TRY(tf_attr_bool(op->arena, op->node, "compute_uv", true, &vectors));
  int rank = x->shape->rank;
  hr_dtype_t type = x->shape->dtype;
  int64_t m = x->shape->dims[rank - 2], n = x->shape->dims[rank - 1], k = m < n ? m : n, none = 0;
  const hlo_shape_t *results[] = {x->shape, with_batch(op->b, x, real_type(type), 1, k, 0),
                                  with_batch(op->b, x, type, 2, m, full ? m : k),
                                  with_batch(op->b, x, type, 2, full ? n : k, n),
                                  with_batch(op->b, x, HR_S32, 0, 0, 0)};
  lapack_call_t call =
      call_of("gesdd", full ? "{mode = 65 : ui8}" : "{mode = 83 : ui8}", &x, 5, results);
  HR_TRY(call_lapack(op, &call, &all));
  HR_TRY(give(op, 0, hlo_build_element(op->b, all, 1), real_type(dtype)));
  if (!vectors) {
    HR_TRY(tf_out(op, 1, tf_fill(op->b, 0, dtype, 1, &none)));
    return tf_out(op, 2, tf_fill(op->b, 0, dtype, 1, &none));
  }
  HR_TRY(give(op, 1, hlo_build_element(op->b, all, 2), dtype));
  return give(op, 2, tf_adjoint(op->b, hlo_build_element(op->b, all, 3)), dtype);
}

/* TridiagonalSolve(diagonals [.., 3, m], right sides [.., m, k]): the diagonals are those above, on
 * and below the main one. The last number above and the first one below lie outside. */
hr_status_t tf_lower_tridiagonal_solve(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hr_dtype_t dtype;
  expr_t x, y, diagonals[4], all;
  HR_TRY(take_matrix(op, 0, &x, &dtype));
  HR_TRY(take_matrix(op, 1, &y, &dtype));
  int rank = x->shape->rank;
  int64_t m = x->shape->dims[rank - 1];
  if (x->shape->dims[rank - 2] != 3 || y->shape->rank != rank || y->shape->dims[rank - 2] != m)
    return tf_error(op, "the diagonals do not fit the right sides");
  const hlo_shape_t *line = with_batch(b, x, x->shape->dtype, 1, m, 0);
  for (int i = 0; i < 3 && line; i++)
    diagonals[2 - i] = tf_reshape(b, tf_slice_dim(b, x, rank - 2, i, i + 1), rank - 1, line->dims);
  diagonals[3] = y;
  const hlo_shape_t *results[] = {line, line, line, y->shape, with_batch(b, x, HR_S32, 0, 0, 0)};
  if (!line || !diagonals[0] || !diagonals[2]) return hlo_builder_finish(b);
  const lapack_call_t call = {.routine = "gtsv",
                              .config = "{}",
                              .rank = rank,
                              .operand_count = 4,
                              .operands = diagonals,
                              .result_count = 5,
                              .results = results};
  HR_TRY(call_lapack(op, &call, &all));
  return give(op, 0, hlo_build_element(b, all, 3), dtype);
}

/* --- LU --- */

/* Factors [.., n, n] in one array, and LAPACK's pivots [.., n]: row i was exchanged with row
 * pivots[i], which counts from 1. */
static hr_status_t factor(tf_op_t *op, expr_t *out_lu, expr_t *out_pivots, hr_dtype_t *out_dtype) {
  hlo_builder_t *b = op->b;
  expr_t x, all;
  HR_TRY(take_matrix(op, 0, &x, out_dtype));
  int rank = x->shape->rank;
  int64_t n = x->shape->dims[rank - 1];
  if (n != x->shape->dims[rank - 2]) return tf_error(op, "the matrices are not square");
  const hlo_shape_t *results[] = {x->shape, with_batch(b, x, HR_S32, 1, n, 0),
                                  with_batch(b, x, HR_S32, 0, 0, 0)};
  lapack_call_t call = call_of("getrf", "{}", &x, 3, results);
  HR_TRY(call_lapack(op, &call, &all));
  *out_lu = hlo_build_element(b, all, 0);
  *out_pivots = hlo_build_element(b, all, 1);
  return hlo_builder_finish(b);
}

/* The element of each line of x that the mask selects. */
static expr_t pick(tf_op_t *op, expr_t mask, expr_t x) {
  if (!mask || !x) return NULL;
  int64_t last = x->shape->rank - 1;
  return tf_reduce(op, HLO_ADD, f_select(op->b, mask, x, f_number(op->b, 0, x)), 1, &last, true);
}

/* state: permutation, pivots. Exchanges elements `trip` and pivots[trip] - 1 of each permutation.
 */
static void exchange(tf_op_t *op, const void *context, expr_t trip, expr_t *state) {
  hlo_builder_t *b = op->b;
  const hlo_shape_t *shape = state[0]->shape;
  (void)context;
  expr_t place = tf_iota(b, HR_S32, shape->rank, shape->dims, shape->rank - 1);
  expr_t here = f_eq(b, place, tf_broadcast(b, trip, shape->rank, shape->dims));
  expr_t pivot = pick(op, here, state[1]);
  if (!pivot) return;
  expr_t other = f_sub(b, pivot, f_number(b, 1, pivot));
  expr_t there = f_eq(b, place, tf_broadcast(b, other, shape->rank, shape->dims));
  expr_t first = tf_broadcast(b, pick(op, here, state[0]), shape->rank, shape->dims);
  expr_t second = tf_broadcast(b, pick(op, there, state[0]), shape->rank, shape->dims);
  state[0] = f_select(b, here, second, f_select(b, there, first, state[0]));
}

/* outputs: both factors in one array, and the row of the input that each of their rows is.
 * Attribute output_idx_type. */
hr_status_t tf_lower_lu(tf_op_t *op) {
  hr_dtype_t dtype, places;
  expr_t lu, state[2];
  HR_TRY(factor(op, &lu, &state[1], &dtype));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "output_idx_type", &places));
  const hlo_shape_t *shape = state[1]->shape;
  state[0] = tf_iota(op->b, HR_S32, shape->rank, shape->dims, shape->rank - 1);
  tf_steps_t steps = {.count = 2, .trips = shape->dims[shape->rank - 1], .step = exchange};
  HR_TRY(tf_repeat(op, &steps, state));
  HR_TRY(give(op, 0, lu, dtype));
  return give(op, 1, state[0], places == HR_TUPLE ? HR_S32 : places);
}

/* -1 where an odd number of rows was exchanged, else 1. */
static expr_t sign_of_pivots(tf_op_t *op, expr_t pivots, hr_dtype_t dtype) {
  hlo_builder_t *b = op->b;
  const hlo_shape_t *shape = pivots->shape;
  int64_t last = shape->rank - 1;
  expr_t place = tf_iota(b, HR_S32, shape->rank, shape->dims, shape->rank - 1);
  expr_t stays = f_eq(b, pivots, f_add(b, place, f_number(b, 1, place)));
  expr_t one = tf_fill(b, 1, dtype, shape->rank, shape->dims);
  expr_t signs = one ? f_select(b, stays, one, f_neg(b, one)) : NULL;
  return tf_reduce(op, HLO_MULTIPLY, signs, 1, &last, false);
}

/* MatrixDeterminant: the product of the diagonal of U. variant 1, LogMatrixDeterminant: its sign,
 * which of a complex number is a number of size 1, and the logarithm of its size. */
hr_status_t tf_lower_determinant(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hr_dtype_t dtype;
  expr_t lu, pivots;
  HR_TRY(factor(op, &lu, &pivots, &dtype));
  const hlo_shape_t *shape = lu->shape, *line = pivots->shape;
  int64_t last = line->rank - 1;
  expr_t row = tf_iota(b, HR_S32, shape->rank, shape->dims, shape->rank - 2);
  expr_t column = tf_iota(b, HR_S32, shape->rank, shape->dims, shape->rank - 1);
  expr_t diagonal = tf_reshape(b, pick(op, f_eq(b, row, column), lu), line->rank, line->dims);
  expr_t sign = sign_of_pivots(op, pivots, shape->dtype);
  bool logarithm = op->row->variant;
  expr_t factors = logarithm ? f_sign(b, diagonal) : diagonal;
  expr_t product = tf_reduce(op, HLO_MULTIPLY, factors, 1, &last, false);
  HR_TRY(give(op, 0, f_mul(b, product, sign), dtype));
  if (!logarithm) return NULL;
  expr_t logs = f_log(b, f_abs(b, diagonal));
  return give(op, 1, tf_reduce(op, HLO_ADD, logs, 1, &last, false), dtype);
}
