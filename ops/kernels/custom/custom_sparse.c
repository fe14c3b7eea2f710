/* Custom calls on sparse matrices: tridiagonal systems with perturbed pivots, and compressed rows
 * times a dense matrix. Floats are computed in double (complex) precision, integers in 64 bits, and
 * narrowed once. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/kernels/custom/custom_call.h"
#include "ops/kernels/gemm/matmul.h"

typedef double _Complex complex_t;

/* All elements are widened to double complex: real numbers cost twice as much, but share the
 * loop. */
static matmul_types_t complex_types(hr_dtype_t dtype) {
  return (matmul_types_t){.lhs = dtype,
                          .rhs = dtype,
                          .out = dtype,
                          .real = HR_F64,
                          .is_complex = true,
                          .parts = 2,
                          .element_bytes = sizeof(complex_t)};
}

/* tridiagonal_solve_perturbed: dl[B,n], d[B,n], du[B,n], b[B,n,k] -> x[B,n,k]. */
typedef struct tridiagonal_plan {
  matmul_types_t types;
  int64_t batch, n, k;
  double epsilon, smallest; /* relative precision and least normal number of the elements' type */
} tridiagonal_plan_t;

/* dl[0] and du[n - 1] are outside the matrix and are not used. */
static hr_status_t prepare_tridiagonal(hr_arena_t *arena, const op_step_t *step,
                                       const void **out_plan) {
  tridiagonal_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  if (step->instr->operand_count != 4) return hlo_error(step->instr, NULL, "want 4 operands");
  const hlo_shape_t *d = step->in_shapes[1], *b = step->in_shapes[3];
  bool fits = d->rank >= 1 && b->rank == d->rank + 1 && hlo_shape_equal(b, step->out_shape) &&
              b->dtype == d->dtype;
  for (int i = 0; fits && i < d->rank; i++) fits = b->dims[i] == d->dims[i];
  fits = fits && hlo_shape_equal(step->in_shapes[0], d) && hlo_shape_equal(step->in_shapes[2], d);
  if (!fits || !(hr_dtype_is_float(d->dtype) || hr_dtype_is_complex(d->dtype)))
    return hlo_error(step->instr, NULL,
                     "want three diagonals [..., n] and right-hand sides [..., n, k] of one type");
  plan->types = complex_types(d->dtype);
  bool is_double = hr_dtype_real(d->dtype) == HR_F64;
  plan->epsilon = is_double ? DBL_EPSILON : FLT_EPSILON;
  plan->smallest = is_double ? DBL_MIN : FLT_MIN;
  plan->n = d->dims[d->rank - 1];
  plan->k = b->dims[b->rank - 1];
  plan->batch = 1;
  for (int i = 0; i < d->rank - 1; i++) plan->batch *= d->dims[i];
  *out_plan = plan;
  return NULL;
}

static void swap(complex_t *a, complex_t *b) {
  complex_t c = *a;
  *a = *b;
  *b = c;
}

/* Gaussian elimination with row exchanges. Row i of U is (d[i], du[i], second[i]); row i + 1 of the
 * matrix begins with dl[i + 1]. Right-hand sides follow the rows.
 *
 *   before step i                     after it
 *   d[i]       du[i]    second[i]=0     U's row i: the larger pivot of the two rows
 *   dl[i+1]    d[i+1]   du[i+1]         0   d[i+1]   du[i+1]   (row i + 1 minus factor * row i)
 *
 * An exchange brings row i + 1, one element longer, into row i: its last element goes to
 * second[i]. O(n k) operations, no scratch memory except `second`. */
static void eliminate(int64_t n, int64_t k, complex_t *dl, complex_t *d, complex_t *du,
                      complex_t *second, complex_t *b) {
  for (int64_t i = 0; i < n; i++) second[i] = 0;
  if (n) du[n - 1] = 0; /* outside the matrix */
  for (int64_t i = 0; i + 1 < n; i++) {
    if (cabs(dl[i + 1]) > cabs(d[i])) {
      swap(&d[i], &dl[i + 1]);
      swap(&du[i], &d[i + 1]);
      swap(&second[i], &du[i + 1]);
      for (int64_t j = 0; j < k; j++) swap(&b[i * k + j], &b[(i + 1) * k + j]);
    }
    if (d[i] == 0) continue; /* then dl[i + 1] is 0 as well */
    complex_t factor = dl[i + 1] / d[i];
    d[i + 1] -= factor * du[i];
    du[i + 1] -= factor * second[i];
    for (int64_t j = 0; j < k; j++) b[(i + 1) * k + j] -= factor * b[i * k + j];
  }
}

/* Distance by which a pivot too small for a division is moved: epsilon times the largest element of
 * U. As in jaxlib, the last row but one is not read. */
static double perturbation(const tridiagonal_plan_t *plan, const complex_t *d, const complex_t *du,
                           const complex_t *second) {
  double largest = 0;
  for (int64_t i = 0; i < plan->n; i++) {
    if (i > 0 && i == plan->n - 2) continue;
    largest = fmax(largest, fmax(cabs(d[i]), fmax(cabs(du[i]), cabs(second[i]))));
  }
  return largest > 0 ? plan->epsilon * largest : plan->smallest;
}

/* sum / pivot, with the pivot moved away from 0 until the quotient is a number of the type: a
 * singular system has a large solution instead of infinities, as inverse iteration needs. */
static complex_t divide(const tridiagonal_plan_t *plan, complex_t sum, complex_t pivot,
                        double step) {
  if (creal(pivot) < 0) step = -step;
  while (cabs(pivot) < plan->smallest || cabs(sum) * plan->smallest > cabs(pivot)) {
    pivot += step;
    step *= 2;
    if (!isfinite(step)) break;
  }
  return sum / pivot;
}

/* Back substitution with the upper triangle of three diagonals, column by column of the
 * right-hand sides; each row uses the two rows below it. */
static void substitute(const tridiagonal_plan_t *plan, const complex_t *d, const complex_t *du,
                       const complex_t *second, complex_t *b) {
  int64_t n = plan->n, k = plan->k;
  double step = perturbation(plan, d, du, second);
  for (int64_t i = n - 1; i >= 0; i--)
    for (int64_t j = 0; j < k; j++) {
      complex_t sum = b[i * k + j];
      if (i + 1 < n) sum -= du[i] * b[(i + 1) * k + j];
      if (i + 2 < n) sum -= second[i] * b[(i + 2) * k + j];
      b[i * k + j] = divide(plan, sum, d[i], step);
    }
}

/* The widened copies are scratch memory, so the elimination may overwrite them. */
static hr_status_t run_tridiagonal(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                   hlo_value_t **out_value) {
  const tridiagonal_plan_t *plan = step->plan;
  void *v[4], *second;
  int64_t n = plan->n, k = plan->k;
  for (int i = 0; i < 4; i++)
    HR_TRY(matmul_widen_copy(env->scratch, &plan->types, in[i]->dtype, in[i]->data, in[i]->count,
                             &v[i]));
  HR_TRY(hr_arena_array(env->scratch, (size_t)n, sizeof(complex_t), &second));
  for (int64_t i = 0; i < plan->batch && in[3]->count; i++) {
    complex_t *dl = (complex_t *)v[0] + i * n, *d = (complex_t *)v[1] + i * n,
              *du = (complex_t *)v[2] + i * n;
    complex_t *b = (complex_t *)v[3] + i * n * k;
    eliminate(n, k, dl, d, du, second, b);
    substitute(plan, d, du, second, b);
  }
  HR_TRY(op_output(env, step, out_value));
  matmul_narrow(&plan->types, v[3], (*out_value)->data, (*out_value)->count);
  return NULL;
}

const op_kernel_t custom_tridiagonal = {prepare_tridiagonal, run_tridiagonal};

/* cpu_csr_sparse_dense: data[z], row_starts[m + 1], columns[z], dense[c] or [c,n] -> [m] or
 * [m,n]. */
typedef struct csr_plan {
  matmul_types_t types;
  int64_t rows, columns, n, stored;
} csr_plan_t;

/* Index values are not known here: CSR_ROWS checks each of them when it reads it. */
static hr_status_t prepare_csr(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  csr_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  if (step->instr->operand_count != 4) return hlo_error(step->instr, NULL, "want 4 operands");
  const hlo_shape_t *data = step->in_shapes[0], *starts = step->in_shapes[1],
                    *columns = step->in_shapes[2];
  const hlo_shape_t *dense = step->in_shapes[3], *out = step->out_shape;
  if (data->rank != 1 || starts->rank != 1 || columns->rank != 1 || dense->rank < 1 ||
      dense->rank > 2 || starts->dims[0] < 1 || data->dims[0] != columns->dims[0] ||
      !hr_dtype_is_integer(starts->dtype) || !hr_dtype_is_integer(columns->dtype))
    return hlo_error(step->instr, NULL,
                     "want data[z], row_starts[m+1], columns[z] and a dense vector or matrix");
  plan->rows = starts->dims[0] - 1;
  plan->columns = dense->dims[0];
  plan->n = dense->rank == 2 ? dense->dims[1] : 1;
  plan->stored = data->dims[0];
  if (!hlo_shape_is_array(out) || out->rank != dense->rank || out->dims[0] != plan->rows ||
      (out->rank == 2 && out->dims[1] != plan->n))
    return hlo_error(step->instr, NULL,
                     "the result must have one row per row of the sparse matrix");
  HR_TRY(matmul_types_init(step->instr, data->dtype, dense->dtype, out->dtype, &plan->types));
  if (hr_dtype_is_float(out->dtype) || hr_dtype_is_complex(out->dtype)) {
    plan->types = complex_types(out->dtype);
  } else {
    plan->types.real = HR_U64;
    plan->types.element_bytes = sizeof(uint64_t);
  }
  *out_plan = plan;
  return NULL;
}

/* Entry p of row r, checked: accesses stay within the arrays whatever the indices are. Row r is the
 * entries row_starts[r] .. row_starts[r + 1] - 1. Entries outside of the stored ones and columns
 * outside of the dense matrix are skipped. Cost: n multiply-adds per entry. */
#define CSR_ROWS(T)                                                                        \
  do {                                                                                     \
    const T *x = data, *y = dense;                                                         \
    for (int64_t r = 0; r < plan->rows; r++) {                                             \
      T *sums = (T *)out + r * plan->n;                                                    \
      int64_t first = hlo_value_int_at(starts, r), last = hlo_value_int_at(starts, r + 1); \
      for (int64_t p = first < 0 ? 0 : first; p < last && p < plan->stored; p++) {         \
        int64_t c = hlo_value_int_at(columns, p);                                          \
        if (c < 0 || c >= plan->columns) continue;                                         \
        for (int64_t j = 0; j < plan->n; j++) sums[j] += x[p] * y[c * plan->n + j];        \
      }                                                                                    \
    }                                                                                      \
  } while (0)

/* Sums start at zero, so rows without entries are 0. Integers are summed modulo 2^64 and narrowed,
 * which gives the same bits as arithmetic in their own type. */
static hr_status_t run_csr(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  const csr_plan_t *plan = step->plan;
  const void *data, *dense;
  const hlo_value_t *starts = in[1], *columns = in[2];
  void *out;
  size_t bytes;
  HR_TRY(matmul_widen(env->scratch, &plan->types, in[0]->dtype, in[0]->data, in[0]->count, &data));
  HR_TRY(matmul_widen(env->scratch, &plan->types, in[3]->dtype, in[3]->data, in[3]->count, &dense));
  HR_TRY(hr_size_product((size_t)plan->rows, (size_t)plan->n, &bytes));
  HR_TRY(hr_size_product(bytes, (size_t)plan->types.element_bytes, &bytes));
  HR_TRY(hr_arena_zeroed(env->scratch, bytes, &out));
  if (plan->types.is_complex)
    CSR_ROWS(complex_t);
  else
    CSR_ROWS(uint64_t);
  HR_TRY(op_output(env, step, out_value));
  matmul_narrow(&plan->types, out, (*out_value)->data, (*out_value)->count);
  return NULL;
}

const op_kernel_t custom_csr_dense = {prepare_csr, run_csr};
