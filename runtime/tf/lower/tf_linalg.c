/* Fourier transforms and factorisations. Systems of equations and inverses go through Householder's
 * QR, as in XLA: A = Q R is built one reflection at a time in a loop over columns. */
#include "tf/compile/tf_lower.h"

/* --- Fourier transforms --- */

typedef struct transform {
  int rank; /* transformed dimensions: the last ones */
  int type; /* HLO_FFT_TYPE_... */
  int64_t length[3];
} transform_t;

/* fft_length has one entry per transformed dimension. For real transforms it is the length of the
 * real side, which the other side's length n / 2 + 1 does not determine. */
static expr_t build_fft(hlo_builder_t *b, const transform_t *t, expr_t x) {
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_FFT_TYPE, t->type),
                        hlo_attr_of_ints(b, HLO_ATTR_FFT_LENGTH, t->rank, t->length)};
  return x ? hlo_build(b, HLO_FFT, NULL, 1, &x, 2, attrs, 0, NULL) : NULL;
}

/* Cuts or pads the end of dimension d with zeros. */
static expr_t fit_dim(hlo_builder_t *b, expr_t x, int d, int64_t size) {
  int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0};
  if (!x || x->shape->dims[d] == size) return x;
  high[d] = size - x->shape->dims[d];
  return tf_pad(b, x, tf_scalar(b, 0, x->shape->dtype), low, high, NULL);
}

/* FFT, FFT2D, FFT3D and their forms IFFT, RFFT, IRFFT. Variant: dimensions, plus 10 for the
 * inverse, plus 20 for real arrays, whose lengths are input 1. RFFT and IRFFT cut or pad x to input
 * 1 first; IRFFT takes n / 2 + 1 values along the last dimension. */
hr_status_t tf_lower_fft(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  transform_t t = {.rank = op->row->variant % 10};
  bool inverse = op->row->variant / 10 & 1, real = op->row->variant >= 20;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  int first = x->shape->rank - t.rank;
  if (first < 0) return tf_error(op, "an array of %d dimensions", x->shape->rank);
  for (int i = 0; i < t.rank; i++) t.length[i] = x->shape->dims[first + i];
  t.type = inverse ? HLO_FFT_TYPE_IFFT : HLO_FFT_TYPE_FFT;
  if (real) {
    hr_ints_t lengths;
    HR_TRY(tf_const_ints(op, 1, &lengths));
    if (lengths.count != t.rank) return tf_error(op, "%ld lengths", (long)lengths.count);
    t.type = inverse ? HLO_FFT_TYPE_IRFFT : HLO_FFT_TYPE_RFFT;
    for (int i = 0; i < t.rank; i++) {
      t.length[i] = lengths.data[i];
      if (t.length[i] < 1) return tf_error(op, "the length %ld", (long)t.length[i]);
      bool halved = inverse && i + 1 == t.rank;
      x = fit_dim(b, x, first + i, halved ? t.length[i] / 2 + 1 : t.length[i]);
    }
  }
  return tf_out(op, 0, build_fft(b, &t, x));
}

/* --- helpers of matrices --- */

/* Whether row >= column + offset.
 * The mask of the lower triangle, from diagonal -offset downwards. */
static expr_t below(hlo_builder_t *b, int rank, const int64_t *dims, int64_t offset) {
  expr_t row = tf_iota(b, HR_S64, rank, dims, rank - 2);
  expr_t column = tf_iota(b, HR_S64, rank, dims, rank - 1);
  return column ? f_ge(b, row, f_add(b, column, f_number(b, (double)offset, column))) : NULL;
}

/* Batches of matrices lie along the leading dimensions. */
static hr_status_t check_matrix(tf_op_t *op, expr_t x, bool square) {
  if (!x) return hlo_builder_finish(op->b);
  int rank = x->shape->rank;
  if (rank < 2) return tf_error(op, "an array of %d dimensions, want matrices", rank);
  if (square && x->shape->dims[rank - 2] != x->shape->dims[rank - 1])
    return tf_error(op, "a matrix of %ld by %ld, want a square one", (long)x->shape->dims[rank - 2],
                    (long)x->shape->dims[rank - 1]);
  return NULL;
}

/* X with A X = Y (or A^H X = Y), where only one triangle of A is read. */
static expr_t build_triangular_solve(hlo_builder_t *b, expr_t a, expr_t y, bool lower,
                                     bool adjoined) {
  int transpose = adjoined ? HLO_TRANSPOSE_ADJOINT : HLO_TRANSPOSE_NO_TRANSPOSE;
  hlo_attr_t attrs[] = {hlo_attr_of_bool(HLO_ATTR_LEFT_SIDE, true),
                        hlo_attr_of_bool(HLO_ATTR_LOWER, lower),
                        hlo_attr_of_bool(HLO_ATTR_UNIT_DIAGONAL, false),
                        hlo_attr_of_int(HLO_ATTR_TRANSPOSE_A, transpose)};
  expr_t operands[] = {a, y};
  return hlo_build(b, HLO_TRIANGULAR_SOLVE, NULL, 2, operands, 4, attrs, 0, NULL);
}

/* --- triangular factors --- */

/* Cholesky: x = L L^H. The lower factor; elements above the diagonal are zero. HLO leaves the other
 * triangle undefined, TensorFlow returns zeros in it. */
hr_status_t tf_lower_cholesky(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0);
  HR_TRY(check_matrix(op, x, true));
  hlo_attr_t attr = hlo_attr_of_bool(HLO_ATTR_LOWER, true);
  expr_t factor = hlo_build(b, HLO_CHOLESKY, NULL, 1, &x, 1, &attr, 0, NULL);
  if (!factor) return hlo_builder_finish(b);
  expr_t keep = below(b, x->shape->rank, x->shape->dims, 0);
  return tf_out(op, 0, f_select(b, keep, factor, f_number(b, 0, factor)));
}

/* Batch dimensions of both to their joint sizes.
 * The last two dimensions stay as they are. */
static void broadcast_batches(hlo_builder_t *b, expr_t *x, expr_t *y) {
  int64_t xd[HLO_MAX_RANK], yd[HLO_MAX_RANK];
  const hlo_shape_t *xs = (*x)->shape, *ys = (*y)->shape;
  int rank = xs->rank > ys->rank ? xs->rank : ys->rank;
  for (int d = 0; d < rank; d++) {
    int at = d - (rank - xs->rank), bt = d - (rank - ys->rank);
    int64_t xn = at < 0 ? 1 : xs->dims[at];
    int64_t yn = bt < 0 ? 1 : ys->dims[bt];
    bool batch = d < rank - 2;
    xd[d] = batch && xn == 1 ? yn : xn;
    yd[d] = batch && yn == 1 ? xn : yn;
  }
  *x = tf_broadcast(b, *x, rank, xd);
  *y = tf_broadcast(b, *y, rank, yd);
}

/* MatrixTriangularSolve(matrix, rhs), attributes lower and adjoint. */
hr_status_t tf_lower_triangular_solve(tf_op_t *op) {
  bool lower, adjoined;
  expr_t a = tf_in(op, 0), y = tf_in(op, 1);
  HR_TRY(check_matrix(op, a, true));
  HR_TRY(check_matrix(op, y, false));
  HR_TRY(tf_attr_bool(op->arena, op->node, "lower", true, &lower));
  HR_TRY(tf_attr_bool(op->arena, op->node, "adjoint", false, &adjoined));
  broadcast_batches(op->b, &a, &y);
  if (!a || !y) return hlo_builder_finish(op->b);
  return tf_out(op, 0, build_triangular_solve(op->b, a, y, lower, adjoined));
}

/* --- QR --- */

/* Sizes that one reflection needs; all lists have `rank` entries. */
typedef struct qr_loop {
  int rank;
  const int64_t *dims;          /* sizes of A, [batch.., m, n] */
  int64_t square[HLO_MAX_RANK]; /* sizes of Q, [batch.., m, m] */
  int64_t column[HLO_MAX_RANK]; /* sizes of a column, [batch.., m, 1] */
} qr_loop_t;

/* A scalar or a smaller array over the given sizes. */
static expr_t wide(hlo_builder_t *b, const qr_loop_t *q, expr_t x, const int64_t *dims) {
  return tf_broadcast(b, x, q->rank, dims);
}

/* Sum over the rows of a column. */
static expr_t sum_column(tf_op_t *op, const qr_loop_t *q, expr_t x) {
  int64_t dim = q->rank - 2;
  return tf_reduce(op, HLO_ADD, x, 1, &dim, true);
}

/* |x|^2 as a real array, also of complex numbers. */
static expr_t squared_size(hlo_builder_t *b, expr_t x) {
  if (!x || !hr_dtype_is_complex(x->shape->dtype)) return f_mul(b, x, x);
  expr_t re = hlo_build_unary(b, HLO_REAL, x), im = hlo_build_unary(b, HLO_IMAG, x);
  return f_add(b, f_mul(b, re, re), f_mul(b, im, im));
}

/* The numbers of a reflection of column x: v and tau. `here` and `under` select the element at the
 * diagonal (alpha) and what lies below it. Both are NULL after a failure. */
static void householder(tf_op_t *op, const qr_loop_t *q, expr_t x, expr_t here, expr_t under,
                        expr_t *out_v, expr_t *out_tau) {
  hlo_builder_t *b = op->b;
  *out_v = *out_tau = NULL;
  if (!x) return;
  hr_dtype_t dtype = x->shape->dtype;
  bool complex_type = hr_dtype_is_complex(dtype);
  expr_t zero = f_number(b, 0, x);
  expr_t alpha = sum_column(op, q, f_select(b, here, x, zero));
  expr_t tail_norm = sum_column(op, q, squared_size(b, f_select(b, under, x, zero)));
  expr_t norm = f_sqrt(b, f_add(b, tail_norm, squared_size(b, alpha)));
  if (!norm || !alpha) return;
  expr_t real = complex_type ? hlo_build_unary(b, HLO_REAL, alpha) : alpha;
  expr_t none = f_eq(b, tail_norm, f_number(b, 0, tail_norm));
  if (complex_type)
    none = f_and(b, none, f_eq(b, hlo_build_unary(b, HLO_IMAG, alpha), f_number(b, 0, real)));
  /* beta has the opposite sign of alpha, so that alpha - beta does not cancel. */
  expr_t beta = f_select(b, f_ge(b, real, f_number(b, 0, real)), f_neg(b, norm), norm);
  expr_t safe = f_select(b, none, f_number(b, 1, beta), beta);
  if (!safe) return;
  expr_t beta_full = complex_type ? hlo_build_convert(b, safe, dtype) : safe;
  expr_t tau = f_div(b, f_sub(b, beta_full, alpha), beta_full);
  expr_t scale = f_sub(b, alpha, beta_full);
  if (!tau || !scale) return;
  *out_tau = f_select(b, none, f_number(b, 0, tau), tau);
  scale = f_select(b, none, f_number(b, 1, scale), scale);
  /* v is 0 above row j, 1 in row j and x / (alpha - beta) under it. */
  expr_t v = f_select(b, under, f_div(b, x, wide(b, q, scale, q->column)), zero);
  *out_v = f_select(b, here, f_number(b, 1, x), v);
}

/* One reflection: H = I - tau v v^H sends column j to a multiple of the unit vector j; R becomes
 * H R and Q becomes Q H^H. A column that is zero below the diagonal is left as it is, with tau 0.
 */
static void reflect(tf_op_t *op, const qr_loop_t *q, expr_t j, expr_t *r, expr_t *factor) {
  hlo_builder_t *b = op->b;
  expr_t starts[HLO_MAX_RANK], v, tau;
  for (int d = 0; d < q->rank; d++) starts[d] = tf_scalar_int(b, 0, HR_S32);
  starts[q->rank - 1] = j;
  /* The column is taken whole; masks by row split it. */
  expr_t x = tf_dynamic_slice(b, *r, starts, q->column);
  expr_t row = tf_iota(b, HR_S32, q->rank, q->column, q->rank - 2);
  expr_t at = wide(b, q, j, q->column);
  householder(op, q, x, f_eq(b, row, at), f_gt(b, row, at), &v, &tau);
  if (!v) return;
  expr_t change = tf_multiply_matrices(b, v, tf_multiply_matrices(b, tf_adjoint(b, v), *r));
  *r = f_sub(b, *r, f_mul(b, wide(b, q, tf_conjugate(b, tau), q->dims), change));
  change = tf_multiply_matrices(b, tf_multiply_matrices(b, *factor, v), tf_adjoint(b, v));
  *factor = f_sub(b, *factor, f_mul(b, wide(b, q, tau, q->square), change));
}

/* Body or condition of the loop over columns; the state is (j, R, Q).
 * The state is the tuple (s32 column, R, Q). The helpers build at op->b, which is therefore
 * exchanged for the inner builder meanwhile. */
static hr_status_t build_loop(tf_op_t *op, const qr_loop_t *q, const hlo_shape_t *state,
                              int64_t count, bool is_body, hlo_computation_t **out) {
  hlo_builder_t inner, *outer = op->b;
  HR_TRY(tf_computation_begin(op->scope->compiler, is_body ? "qr_body" : "qr_condition", &inner));
  op->b = &inner;
  expr_t all = hlo_build_parameter(&inner, 0, state);
  expr_t j = hlo_build_element(&inner, all, 0), root;
  if (is_body) {
    expr_t parts[] = {j, hlo_build_element(&inner, all, 1), hlo_build_element(&inner, all, 2)};
    reflect(op, q, j, &parts[1], &parts[2]);
    parts[0] = f_add(&inner, j, tf_scalar_int(&inner, 1, HR_S32));
    root = hlo_build_tuple(&inner, 3, parts);
  } else {
    root = f_lt(&inner, j, tf_scalar_int(&inner, count, HR_S32));
  }
  op->b = outer;
  *out = inner.computation;
  return tf_computation_end(op->scope->compiler, &inner, root);
}

/* Q is square in the rows of A. */
static void square_sizes(expr_t x, qr_loop_t *q) {
  *q = (qr_loop_t){.rank = x->shape->rank, .dims = x->shape->dims};
  for (int d = 0; d < q->rank; d++) {
    bool last = d == q->rank - 1, matrix = d >= q->rank - 2;
    q->square[d] = matrix ? x->shape->dims[q->rank - 2] : x->shape->dims[d];
    q->column[d] = last ? 1 : x->shape->dims[d];
  }
}

/* Q [batch.., m, m] and R [batch.., m, n] of x. R starts as x, Q as the identity. min(m, n)
 * reflections clear everything below the diagonal; rounding errors there are set to 0. */
static hr_status_t build_qr(tf_op_t *op, expr_t x, expr_t *out_q, expr_t *out_r) {
  hlo_builder_t *b = op->b;
  qr_loop_t q;
  const hlo_shape_t *shapes[3], *state;
  hlo_computation_t *called[2];
  square_sizes(x, &q);
  int64_t m = q.dims[q.rank - 2], n = q.dims[q.rank - 1], count = m < n ? m : n;
  expr_t row = tf_iota(b, HR_S32, q.rank, q.square, q.rank - 2);
  expr_t column = tf_iota(b, HR_S32, q.rank, q.square, q.rank - 1);
  expr_t eye = f_eq(b, row, column);
  eye = eye ? hlo_build_convert(b, eye, x->shape->dtype) : NULL;
  if (!eye) return hlo_builder_finish(b);
  expr_t init[] = {tf_scalar_int(b, 0, HR_S32), x, eye};
  for (int i = 0; i < 3; i++) shapes[i] = init[i]->shape;
  HR_TRY(hlo_shape_tuple(op->arena, 3, shapes, &state));
  HR_TRY(build_loop(op, &q, state, count, false, &called[0]));
  HR_TRY(build_loop(op, &q, state, count, true, &called[1]));
  expr_t tuple = hlo_build_tuple(b, 3, init);
  hlo_attr_t attrs[] = {hlo_attr_of_called(HLO_ATTR_CONDITION, 1),
                        hlo_attr_of_called(HLO_ATTR_BODY, 1)};
  expr_t done = hlo_build(b, HLO_WHILE, state, 1, &tuple, 2, attrs, 2, called);
  *out_r = hlo_build_element(b, done, 1);
  *out_q = hlo_build_element(b, done, 2);
  if (!*out_r) return hlo_builder_finish(b);
  expr_t upper = below(b, q.rank, q.dims, 1);
  *out_r = f_select(b, upper, f_number(b, 0, *out_r), *out_r);
  return hlo_builder_finish(b);
}

/* Qr, attribute full_matrices: [m, m] and [m, n] with it, [m, k] and [k, n] without, k = min(m, n).
 * Outputs: Q, R; without full_matrices the first min(m, n) columns and rows. */
hr_status_t tf_lower_qr(tf_op_t *op) {
  bool full;
  expr_t x = tf_in(op, 0), q, r;
  HR_TRY(check_matrix(op, x, false));
  HR_TRY(tf_attr_bool(op->arena, op->node, "full_matrices", false, &full));
  HR_TRY(build_qr(op, x, &q, &r));
  int rank = x->shape->rank;
  int64_t m = x->shape->dims[rank - 2], n = x->shape->dims[rank - 1];
  int64_t kept = full || m < n ? m : n;
  HR_TRY(tf_out(op, 0, tf_slice_dim(op->b, q, rank - 1, 0, kept)));
  return tf_out(op, 1, tf_slice_dim(op->b, r, rank - 2, 0, kept));
}

/* X with A X = Y: R X = Q^H Y. For the adjoint, A^H is factored.
 * `y` NULL stands for the identity: the inverse is R^-1 Q^H. */
static hr_status_t solve(tf_op_t *op, expr_t a, expr_t y, expr_t *out) {
  bool adjoined;
  expr_t q, r;
  HR_TRY(tf_attr_bool(op->arena, op->node, "adjoint", false, &adjoined));
  if (adjoined) a = tf_adjoint(op->b, a);
  if (!a) return hlo_builder_finish(op->b);
  HR_TRY(build_qr(op, a, &q, &r));
  y = y ? tf_multiply_matrices(op->b, tf_adjoint(op->b, q), y) : tf_adjoint(op->b, q);
  if (!y) return hlo_builder_finish(op->b);
  *out = build_triangular_solve(op->b, r, y, false, false);
  return NULL;
}

/* variant 0: MatrixInverse, 1: MatrixSolve */
hr_status_t tf_lower_matrix_solve(tf_op_t *op) {
  expr_t a = tf_in(op, 0), y = op->row->variant ? tf_in(op, 1) : NULL, x = NULL;
  HR_TRY(check_matrix(op, a, true));
  if (op->row->variant) HR_TRY(check_matrix(op, y, false));
  HR_TRY(solve(op, a, y, &x));
  return tf_out(op, 0, x);
}

/* TridiagonalMatMul: row i of the result is super[i] y[i + 1] + diag[i] y[i] + sub[i] y[i - 1].
 * Inputs: superdiagonal, diagonal, subdiagonal [batch.., 1, m], right side [batch.., m, n]. */
hr_status_t tf_lower_tridiagonal_product(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t sum = NULL, y = tf_in(op, 3);
  HR_TRY(check_matrix(op, y, false));
  int rank = y->shape->rank;
  int64_t m = y->shape->dims[rank - 2];
  for (int k = 0; k < 3; k++) {
    int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0};
    low[rank - 2] = k - 1; /* row i takes the right side's row i + 1 - k */
    high[rank - 2] = 1 - k;
    expr_t diagonal = tf_transpose_matrices(b, tf_in(op, k));
    expr_t moved = tf_pad(b, y, tf_scalar(b, 0, y->shape->dtype), low, high, NULL);
    if (!diagonal || !moved) return hlo_builder_finish(b);
    if (diagonal->shape->rank != rank || diagonal->shape->dims[rank - 2] != m)
      return tf_error(op, "diagonal %d does not fit", k);
    expr_t part = f_mul(b, tf_broadcast_like(b, diagonal, y), moved);
    sum = sum ? f_add(b, sum, part) : part;
  }
  return tf_out(op, 0, sum);
}
