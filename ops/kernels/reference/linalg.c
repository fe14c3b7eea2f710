/* cholesky and triangular-solve. All types are computed in double (complex) precision and rounded
 * once, so that two instances of each algorithm suffice. Unblocked: matrices are small in the
 * reference engine; inner loops are contiguous. A matrix that is not positive definite gives NaN,
 * as in XLA. Source: StableHLO spec, cholesky, triangular_solve. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "ops/kernels/gemm/matmul.h"

typedef double _Complex complex_t;

/* conj_NAME and times_NAME let one macro serve both types. */
static double conj_real(double x) { return x; }
static complex_t conj_complex(complex_t x) { return conj(x); }

/* x * y, without C's recovery of infinities in complex products. */
static double times_real(double x, double y) { return x * y; }
static complex_t times_complex(complex_t x, complex_t y) {
  double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
  complex_t z;
  __real__ z = a * c - b * d;
  __imag__ z = a * d + b * c;
  return z;
}

typedef struct cholesky_plan {
  matmul_types_t types;
  int64_t batch, n;
  bool lower;
} cholesky_plan_t;

typedef struct solve_plan {
  matmul_types_t types;
  int64_t batch, n, width; /* right-hand sides are n x width, or width x n if on the right */
  bool left, lower, unit;
  hlo_enum_TRANSPOSE_t transpose;
} solve_plan_t;

/* transpose: to = the transpose of the rows x columns matrix `from`, conjugated if
 *            `conjugate` is set.
 * factor:    overwrites the lower triangle of a with its Cholesky factor, row by row:
 *            l[i][j] = (a[i][j] - sum over p < j of l[i][p] conj(l[j][p])) / l[j][j];
 *            false if a pivot is not positive. An upper factor is the adjoint of a lower one.
 * eliminate: forward or backward substitution for rows of right-hand sides,
 *            x[i] = (b[i] - sum over solved p of t[i][p] x[p]) / t[i][i].
 *            x op(a) = b is solved as op(a)^T x^T = b^T.
 *   cholesky:  an upper factor is computed from the transpose and transposed back; the other
 *              triangle becomes 0, or everything NaN if the matrix is not positive definite.
 *   solve:     a triangle on the right side is solved on transposed right-hand sides, so that
 *              eliminate always walks rows. `transposed`: t is the transpose of a.
 *              Elimination is forward if the triangle t is a lower one.
 *   Cost: n^3 / 3 multiply-adds for a factor, n^2 * width for a solve. */
#define DEFINE_LINALG(NAME, T)                                                                     \
  static void NAME##_transpose(const T *from, int64_t rows, int64_t columns, bool conjugate,       \
                               T *to) {                                                            \
    for (int64_t i = 0; i < rows; i++)                                                             \
      for (int64_t j = 0; j < columns; j++)                                                        \
        to[j * rows + i] = conjugate ? conj_##NAME(from[i * columns + j]) : from[i * columns + j]; \
  }                                                                                                \
                                                                                                   \
  static bool NAME##_factor(T *a, int64_t n) {                                                     \
    for (int64_t i = 0; i < n; i++)                                                                \
      for (int64_t j = 0; j <= i; j++) {                                                           \
        T sum = a[i * n + j];                                                                      \
        for (int64_t p = 0; p < j; p++)                                                            \
          sum -= times_##NAME(a[i * n + p], conj_##NAME(a[j * n + p]));                            \
        if (j < i) {                                                                               \
          a[i * n + j] = sum / creal(a[j * n + j]);                                                \
        } else {                                                                                   \
          if (!(creal(sum) > 0) || isinf(creal(sum))) return false;                                \
          a[i * n + i] = sqrt(creal(sum));                                                         \
        }                                                                                          \
      }                                                                                            \
    return true;                                                                                   \
  }                                                                                                \
                                                                                                   \
  static void NAME##_cholesky(const cholesky_plan_t *plan, void *matrix, void *work) {             \
    int64_t n = plan->n;                                                                           \
    T *a = matrix, *l = plan->lower ? matrix : work;                                               \
    if (!plan->lower) NAME##_transpose(a, n, n, true, l);                                          \
    bool fine = NAME##_factor(l, n);                                                               \
    T rest = fine ? 0 : NAN;                                                                       \
    for (int64_t i = 0; i < n; i++)                                                                \
      for (int64_t j = fine ? i + 1 : 0; j < n; j++) l[i * n + j] = rest;                          \
    if (!plan->lower) NAME##_transpose(l, n, n, true, a);                                          \
  }                                                                                                \
                                                                                                   \
  static void NAME##_eliminate(const T *t, int64_t n, T *x, int64_t width, bool forward,           \
                               bool unit) {                                                        \
    for (int64_t s = 0; s < n; s++) {                                                              \
      int64_t i = forward ? s : n - 1 - s;                                                         \
      T *row = x + i * width;                                                                      \
      for (int64_t r = 0; r < s; r++) {                                                            \
        int64_t p = forward ? r : n - 1 - r;                                                       \
        T factor = t[i * n + p];                                                                   \
        for (int64_t j = 0; j < width; j++) row[j] -= times_##NAME(factor, x[p * width + j]);      \
      }                                                                                            \
      for (int64_t j = 0; j < width && !unit; j++) row[j] /= t[i * n + i];                         \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static void NAME##_solve(const solve_plan_t *plan, const void *a, void *b, void *a_work,         \
                           void *b_work) {                                                         \
    int64_t n = plan->n, width = plan->width;                                                      \
    bool conjugate = plan->transpose == HLO_TRANSPOSE_ADJOINT;                                     \
    bool transposed = (conjugate || plan->transpose == HLO_TRANSPOSE_TRANSPOSE) == plan->left;     \
    const T *from = a;                                                                             \
    T *t = a_work;                                                                                 \
    if (transposed) NAME##_transpose(from, n, n, conjugate, t);                                    \
    for (int64_t i = 0; i < n * n && !transposed; i++)                                             \
      t[i] = conjugate ? conj_##NAME(from[i]) : from[i];                                           \
    if (!plan->left) NAME##_transpose(b, width, n, false, b_work);                                 \
    NAME##_eliminate(t, n, plan->left ? b : b_work, width, plan->lower != transposed, plan->unit); \
    if (!plan->left) NAME##_transpose(b_work, n, width, false, b);                                 \
  }

DEFINE_LINALG(real, double)
DEFINE_LINALG(complex, complex_t)

/* The types of matmul_widen and matmul_narrow for matrices of `dtype`. Only floats and complex
 * numbers are factored. */
static hr_status_t wide_types(const hlo_instr_t *instr, hr_dtype_t dtype,
                              matmul_types_t *out_types) {
  bool is_complex = hr_dtype_is_complex(dtype);
  if (!is_complex && !hr_dtype_is_float(dtype))
    return hlo_unsupported(instr, "elements of type %s", hr_dtype_name(dtype));
  *out_types = (matmul_types_t){.lhs = dtype,
                                .rhs = dtype,
                                .out = dtype,
                                .real = HR_F64,
                                .is_complex = is_complex,
                                .parts = is_complex ? 2 : 1,
                                .element_bytes = is_complex ? 16 : 8};
  return NULL;
}

/* A stack of n x n matrices; its leading dimensions are the batch. */
static hr_status_t prepare_cholesky(hr_arena_t *arena, const op_step_t *step,
                                    const void **out_plan) {
  cholesky_plan_t *plan;
  const hlo_shape_t *a = step->in_shapes[0];
  int64_t count;
  HR_TRY(HR_NEW(arena, &plan));
  HR_TRY(wide_types(step->instr, a->dtype, &plan->types));
  HR_TRY(hlo_shape_count(a, &count));
  if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2]) /* cholesky C2, C3 */
    return hlo_error(step->instr, "cholesky C3", "the operand must be square matrices");
  if (!hlo_shape_compatible(a, step->out_shape))
    return hlo_error(step->instr, "cholesky C1", "the result has another shape");
  plan->n = a->dims[a->rank - 1];
  plan->batch = plan->n ? count / plan->n / plan->n : 0;
  plan->lower = hlo_attr_bool(step->instr, HLO_ATTR_LOWER);
  *out_plan = plan;
  return NULL;
}

/* All matrices are widened at once and factored in place, with one matrix of work space. */
static hr_status_t cholesky(op_env_t *env, const cholesky_plan_t *plan, const hlo_value_t *in,
                            hlo_value_t *out) {
  void *a, *work;
  size_t bytes = (size_t)(plan->n * plan->n) * (size_t)plan->types.element_bytes;
  HR_TRY(matmul_widen_copy(env->scratch, &plan->types, in->dtype, in->data, in->count, &a));
  HR_TRY(hr_arena_alloc(env->scratch, bytes, &work));
  for (int64_t i = 0; i < plan->batch; i++)
    (plan->types.is_complex ? complex_cholesky : real_cholesky)(plan, (char *)a + (size_t)i * bytes,
                                                                work);
  matmul_narrow(&plan->types, a, out->data, out->count);
  return NULL;
}

/* An empty result has no matrix to factor. */
static hr_status_t run_cholesky(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                hlo_value_t **out_value) {
  hlo_value_t *out;
  HR_TRY(op_output(env, step, &out));
  hr_status_t st = out->count ? cholesky(env, step->plan, in[0], out) : NULL;
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

const op_kernel_t kernel_cholesky = {prepare_cholesky, run_cholesky};

/* Checks a [batch][n][n] against b [batch][n][width], or b [batch][width][n] if a is on the
 * right. */
static hr_status_t check_solve(const op_step_t *step, solve_plan_t *plan) {
  const hlo_shape_t *a = step->in_shapes[0], *b = step->in_shapes[1];
  if (a->dtype != b->dtype || a->rank < 2 || a->rank != b->rank ||
      !hlo_shape_compatible(b, step->out_shape))
    return hlo_error(step->instr, "triangular_solve C1",
                     "operands and result disagree in type or rank");
  plan->batch = 1;
  for (int d = 0; d < a->rank - 2; d++) {
    if (a->dims[d] != b->dims[d]) /* triangular_solve C3 */
      return hlo_error(step->instr, "triangular_solve C3", "batch sizes %ld and %ld",
                       (long)a->dims[d], (long)b->dims[d]);
    plan->batch *= a->dims[d];
  }
  plan->n = a->dims[a->rank - 1];
  plan->width = b->dims[b->rank - (plan->left ? 1 : 2)];
  if (a->dims[a->rank - 2] != plan->n || b->dims[b->rank - (plan->left ? 2 : 1)] != plan->n)
    return hlo_error(step->instr, "triangular_solve C3", "a must be square, and b have its size");
  return NULL;
}

/* Attributes are read before the check, as the side decides which dimension of b is n. */
static hr_status_t prepare_solve(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  solve_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  HR_TRY(wide_types(step->instr, step->in_shapes[0]->dtype, &plan->types));
  plan->left = hlo_attr_bool(step->instr, HLO_ATTR_LEFT_SIDE);
  plan->lower = hlo_attr_bool(step->instr, HLO_ATTR_LOWER);
  plan->unit = hlo_attr_bool(step->instr, HLO_ATTR_UNIT_DIAGONAL);
  plan->transpose = (hlo_enum_TRANSPOSE_t)hlo_attr_enum(step->instr, HLO_ATTR_TRANSPOSE_A);
  HR_TRY(check_solve(step, plan));
  *out_plan = plan;
  return NULL;
}

/* Solves in the wide type; b is a widened copy that is overwritten with the solution. */
static hr_status_t solve(op_env_t *env, const solve_plan_t *plan, hlo_value_t *const *in,
                         hlo_value_t *out) {
  const void *a;
  void *b, *a_work, *b_work;
  size_t each = (size_t)plan->types.element_bytes;
  size_t a_bytes = (size_t)(plan->n * plan->n) * each,
         b_bytes = (size_t)(plan->n * plan->width) * each;
  HR_TRY(matmul_widen(env->scratch, &plan->types, in[0]->dtype, in[0]->data, in[0]->count, &a));
  HR_TRY(
      matmul_widen_copy(env->scratch, &plan->types, in[1]->dtype, in[1]->data, in[1]->count, &b));
  HR_TRY(hr_arena_alloc(env->scratch, a_bytes, &a_work));
  HR_TRY(hr_arena_alloc(env->scratch, b_bytes, &b_work));
  for (size_t i = 0; i < (size_t)plan->batch; i++)
    (plan->types.is_complex ? complex_solve : real_solve)(plan, (const char *)a + i * a_bytes,
                                                          (char *)b + i * b_bytes, a_work, b_work);
  matmul_narrow(&plan->types, b, out->data, out->count);
  return NULL;
}

static hr_status_t run_solve(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  hlo_value_t *out;
  HR_TRY(op_output(env, step, &out));
  hr_status_t st = out->count ? solve(env, step->plan, in, out) : NULL;
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

const op_kernel_t kernel_triangular_solve = {prepare_solve, run_solve};
