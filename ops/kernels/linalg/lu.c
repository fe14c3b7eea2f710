/* Recursive LU with partial pivoting (Toledo; LAPACK's getrf2) by halves of the columns:
 *
 *   1. factor the left half [A11; A21]                 recursively to LU_PANEL columns
 *   2. swap the rows of the right half likewise        laswp
 *   3. A12 = L11^-1 A12                                trsm, columns over the workers
 *   4. A22 = A22 - L21 A12                             gemm, all workers
 *   5. factor A22, swap the rows of L21 likewise
 *
 * Cost 2/3 n^3, nearly all in step 4. A zero pivot is recorded and skipped, as in LAPACK. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "cx-limited-range")
#endif
#include "ops/kernels/linalg/lu.h"

#include <complex.h>
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/simd/simd_target.h"

#define LU_PANEL 16    /* columns factored by loops */
#define LU_TRIANGLE 32 /* largest triangle solved by loops */
#define CHUNK 512      /* bytes of a row swapped at a time */

#define JOIN_NAME(a, b) a##b
#define LU_TYPE float
#define LU_REAL float
#define LU_BITS uint32_t
#define LU_NAME(x) JOIN_NAME(f32_, x)
#include "ops/kernels/linalg/lu_loops.h"
#undef LU_TYPE
#undef LU_NAME
#define LU_TYPE float complex
#define LU_NAME(x) JOIN_NAME(c64_, x)
#include "ops/kernels/linalg/lu_loops.h"
#undef LU_TYPE
#undef LU_REAL
#undef LU_BITS
#undef LU_NAME
#define LU_TYPE double
#define LU_REAL double
#define LU_BITS uint64_t
#define LU_NAME(x) JOIN_NAME(f64_, x)
#include "ops/kernels/linalg/lu_loops.h"
#undef LU_TYPE
#undef LU_NAME
#define LU_TYPE double complex
#define LU_NAME(x) JOIN_NAME(c128_, x)
#include "ops/kernels/linalg/lu_loops.h"

typedef struct lu_loops {
  int64_t (*panel)(int64_t m, int64_t n, void *a, int64_t stride, int32_t *pivots, void *space);
  void (*solve)(bool upper, bool unit, int64_t n, const void *a, int64_t a_step, int64_t columns,
                void *x, int64_t x_step);
} lu_loops_t;

static lu_loops_t find_lu_loops(hr_dtype_t dtype) {
  switch (dtype) {
    case HR_F32:
      return (lu_loops_t){f32_panel, f32_solve};
    case HR_F64:
      return (lu_loops_t){f64_panel, f64_solve};
    case HR_C64:
      return (lu_loops_t){c64_panel, c64_solve};
    default:
      return (lu_loops_t){c128_panel, c128_solve};
  }
}

typedef struct lu_run {
  const lu_matrix_t *matrix;
  lu_loops_t loops;
  hr_workers_t *workers;
  char *space;
  size_t space_bytes;
  int64_t bytes; /* element size */
} lu_run_t;

static void *element(const lu_run_t *r, int64_t row, int64_t column) {
  return (char *)r->matrix->data + (row * r->matrix->stride + column) * r->bytes;
}

static void swap_bytes(char *a, char *b, int64_t bytes) {
  char saved[CHUNK];
  for (int64_t at = 0; at < bytes; at += CHUNK) {
    size_t size = (size_t)hr_min(CHUNK, bytes - at);
    memcpy(saved, a + at, size);
    memcpy(a + at, b + at, size);
    memcpy(b + at, saved, size);
  }
}

/* Swaps rows first .. first + count - 1 with their pivot rows, in `columns` columns from
 * `column` on. */
static void swap_rows(const lu_run_t *r, int64_t first, int64_t count, int64_t column,
                      int64_t columns) {
  for (int64_t i = first; i < first + count; i++)
    if (r->matrix->pivots[i] != i)
      swap_bytes(element(r, i, column), element(r, r->matrix->pivots[i], column),
                 columns * r->bytes);
}

/* C -= A B with A the rows from `row` on of k columns from k_first on, B the k rows from k_first
 * on of the n columns from `column` on; C the m x n block at (row, column). */
static gemm_job_t trailing_update(const lu_run_t *r, int64_t row, int64_t column, int64_t m,
                                  int64_t n, int64_t k_first, int64_t k) {
  int64_t stride = r->matrix->stride;
  return (gemm_job_t){.dtype = r->matrix->dtype,
                      .mode = GEMM_SUBTRACT,
                      .m = m,
                      .n = n,
                      .k = k,
                      .a = element(r, row, k_first),
                      .a_row = stride,
                      .a_col = 1,
                      .b = element(r, k_first, column),
                      .b_row = stride,
                      .b_col = 1,
                      .c = element(r, row, column),
                      .c_row = stride};
}

/* Solves columns of the rows [first, first + n) with the unit lower triangle that starts at
 * (first, first). */
static void solve_columns(const lu_run_t *r, int64_t first, int64_t n, int64_t column,
                          int64_t columns, void *space) {
  if (n <= LU_TRIANGLE) {
    r->loops.solve(false, true, n, element(r, first, first), r->matrix->stride, columns,
                   element(r, first, column), r->matrix->stride);
    return;
  }
  int64_t top = n / 2;
  solve_columns(r, first, top, column, columns, space);
  gemm_job_t job = trailing_update(r, first + top, column, n - top, columns, first, top);
  gemm_run_serial(&job, 0, space);
  solve_columns(r, first + top, n - top, column, columns, space);
}

/* The rows of the right half that correspond to the left half's triangle. */
typedef struct lu_right {
  const lu_run_t *run;
  int64_t first, n, column;
} lu_right_t;

static void solve_right(void *context, int64_t begin, int64_t end, int worker) {
  const lu_right_t *right = context;
  swap_rows(right->run, right->first, right->n, right->column + begin, end - begin);
  solve_columns(right->run, right->first, right->n, right->column + begin, end - begin,
                right->run->space + (size_t)worker * right->run->space_bytes);
}

/* Factors the m x n submatrix at (first, first). Pivots are row indices of the whole matrix,
 * from 0. Returns 0, or 1 plus the column of the first zero pivot. */
static int64_t factor_recursive(const lu_run_t *r, int64_t first, int64_t m, int64_t n) {
  if (n <= LU_PANEL) {
    int32_t *pivots = r->matrix->pivots + first;
    int64_t zero_pivot =
        r->loops.panel(m, n, element(r, first, first), r->matrix->stride, pivots, r->space);
    for (int64_t i = 0; i < n && i < m; i++) pivots[i] += (int32_t)first;
    return zero_pivot ? first + zero_pivot : 0;
  }
  int64_t half = hr_min(m, hr_round_up(n / 2, LU_PANEL)), rows_below = m - half, right_n = n - half;
  int64_t zero_pivot = factor_recursive(r, first, m, half), later;
  lu_right_t right = {r, first, half, first + half};
  hr_workers_split(r->workers, right_n, 1 + 200000 / (half * (half + 8)), solve_right, &right);
  if (rows_below == 0) return zero_pivot;
  gemm_job_t job = trailing_update(r, first + half, first + half, rows_below, right_n, first, half);
  gemm_partition_t partition = gemm_partition_choose(&job, hr_workers_count(r->workers));
  gemm_run(r->workers, &job, &partition, r->space);
  later = factor_recursive(r, first + half, rows_below, right_n);
  swap_rows(r, first + half, hr_min(rows_below, right_n), first, half);
  return zero_pivot ? zero_pivot : later;
}

static int64_t factor_all(lu_run_t *r) {
  const lu_matrix_t *a = r->matrix;
  int64_t zero_pivot = a->m && a->n ? factor_recursive(r, 0, a->m, a->n) : 0;
  for (int64_t i = 0; i < hr_min(a->m, a->n); i++) a->pivots[i]++;
  return zero_pivot;
}

size_t lu_space_bytes(hr_dtype_t dtype, int64_t m, int64_t n) {
  gemm_job_t largest = {.dtype = dtype, .m = m, .n = n, .k = hr_min(m, n), .a_row = n, .a_col = 1};
  size_t panel = (size_t)(m * LU_PANEL) * hr_dtype_bytes(dtype),
         products = gemm_space_bytes(&largest);
  if (m <= LU_PANEL) return panel;
  return (size_t)hr_round_up(hr_max((int64_t)panel, (int64_t)products), 64);
}

int64_t lu_factor(hr_workers_t *workers, const lu_matrix_t *matrix, void *space,
                  size_t space_bytes) {
  lu_run_t r = {matrix,      find_lu_loops(matrix->dtype),          workers, space,
                space_bytes, (int64_t)hr_dtype_bytes(matrix->dtype)};
  return factor_all(&r);
}

void lu_solve_few(const lu_triangular_t *a, int64_t columns, void *x, int64_t x_stride) {
  find_lu_loops(a->dtype).solve(a->triangle == LU_UPPER, a->has_unit_diagonal, a->n, a->data,
                                a->stride, columns, x, x_stride);
}
