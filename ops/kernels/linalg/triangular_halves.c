/* Recursive triangular solves and Cholesky factors (LAPACK's potrf2):
 *
 *   L11              solve(L11, X1)                 factor(A11)
 *   L21 L22          X2 -= L21 X1                   L21 = A21 L11^-T
 *                    solve(L22, X2)                 A22 -= L21 L21^T;  factor(A22)
 *
 * Halves are whole multiples of UNIT. Triangles of at most LEAF rows are done by loops. Nearly all
 * of the n^2 multiply-adds for each right-hand side, or n^3 / 6 for a factor, are products. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("O3", "fp-contract=fast")
#endif
#include "ops/kernels/linalg/triangular_halves.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/move/native_transpose.h"
#include "ops/kernels/simd/simd_target.h"

#define LEAF 32 /* largest triangle solved by loops, in rows */
#define UNIT 16
#define LEAST_SPLIT 64  /* least rows of a square whose lower triangle alone is computed */
#define CHUNK_BYTES 256 /* bytes of a row of the right-hand sides that a leaf solves at a time */

static int64_t half_of(int64_t size) { return hr_round_up(size / 2, UNIT); }

static char *x_at(const triangular_job_t *job, int64_t row, int64_t column) {
  return (char *)job->x + (row * job->x_row + column) * (int64_t)hr_dtype_bytes(job->dtype);
}

static const char *t_at(const triangular_job_t *job, int64_t row, int64_t column) {
  return (const char *)job->t +
         (row * job->t_row + column * job->t_col) * (int64_t)hr_dtype_bytes(job->dtype);
}

static gemm_job_t product(const triangular_job_t *job, int64_t m, int64_t n, int64_t k) {
  return (gemm_job_t){.dtype = job->dtype, .mode = GEMM_SUBTRACT, .m = m, .n = n, .k = k};
}

/* Subtracts the product of `count` solved unknowns, from `from` on, from `others` right-hand rows
 * (columns, with the triangle on the right) from `to` on. */
static void update(const triangular_job_t *job, int64_t from, int64_t count, int64_t to,
                   int64_t others, void *space) {
  gemm_job_t gemm;
  if (job->right) {
    gemm = product(job, job->sides, others, count);
    gemm.a = x_at(job, 0, from);
    gemm.a_row = job->x_row;
    gemm.a_col = 1;
    gemm.b = t_at(job, from, to);
    gemm.b_row = job->t_row;
    gemm.b_col = job->t_col;
    gemm.c = x_at(job, 0, to);
  } else {
    gemm = product(job, others, job->sides, count);
    gemm.a = t_at(job, to, from);
    gemm.a_row = job->t_row;
    gemm.a_col = job->t_col;
    gemm.b = x_at(job, from, 0);
    gemm.b_row = job->x_row;
    gemm.b_col = 1;
    gemm.c = x_at(job, to, 0);
  }
  gemm.c_row = job->x_row;
  gemm_run_serial(&gemm, 0, space);
}

/* --- leaves --- */

#define TOGETHER 4 /* unknowns solved at a time */
#define TILES_FILE "ops/kernels/linalg/triangular_leaf_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

static void copy_rows(const char *from, int64_t from_bytes, int64_t rows, int64_t bytes, char *to,
                      int64_t to_bytes) {
  for (int64_t i = 0; i < rows; i++)
    memcpy(to + i * to_bytes, from + i * from_bytes, (size_t)bytes);
}

/* Copies right-hand sides first .. first + count - 1 of a leaf to the columns of a chunk, or
 * back. */
static void move_chunk(const triangular_job_t *job, int64_t leaf, int64_t size, int64_t first,
                       int64_t count, char *chunk, bool back) {
  int bytes = (int)hr_dtype_bytes(job->dtype);
  int64_t row_bytes = job->x_row * bytes;
  char *x = job->right ? x_at(job, first, leaf) : x_at(job, leaf, first);
  if (job->right && !back)
    native_transpose_plane(bytes, size, count, x, row_bytes, chunk, CHUNK_BYTES);
  else if (job->right)
    native_transpose_plane(bytes, count, size, chunk, CHUNK_BYTES, x, row_bytes);
  else if (back)
    copy_rows(chunk, CHUNK_BYTES, size, count * bytes, x, row_bytes);
  else
    copy_rows(x, row_bytes, size, count * bytes, chunk, CHUNK_BYTES);
}

/* Loads the triangle, or its transpose if it is on the right, with LEAF columns. */
static void load_triangle(const triangular_job_t *job, int64_t first, int64_t size,
                          double *triangle) {
  int64_t row = job->right ? job->t_col : job->t_row;
  int64_t col = job->right ? job->t_row : job->t_col;
  const char *from = t_at(job, first, first);
  for (int64_t i = 0; i < size; i++)
    for (int64_t j = 0; j < size; j++)
      if (job->dtype == HR_F32)
        ((float *)triangle)[i * LEAF + j] = ((const float *)from)[i * row + j * col];
      else
        triangle[i * LEAF + j] = ((const double *)from)[i * row + j * col];
}

/* Chunks have rows of CHUNK_BYTES: the surplus right-hand sides of the last one are zeros or those
 * of the previous chunk. */
static void solve_leaf(const triangular_job_t *job, int64_t first, int64_t size) {
  double triangle[LEAF * LEAF], chunk[LEAF * CHUNK_BYTES / sizeof(double)] = {0};
  int64_t unit = CHUNK_BYTES / (int64_t)hr_dtype_bytes(job->dtype);
  bool upper = job->upper != job->right;
  load_triangle(job, first, size, triangle);
  for (int64_t side = 0; side < job->sides; side += unit) {
    int64_t count = hr_min(unit, job->sides - side);
    bool in_place = !job->right && count == unit;
    void *x = in_place ? (void *)x_at(job, first, side) : chunk;
    int64_t x_row = in_place ? job->x_row : unit;
    if (!in_place) move_chunk(job, first, size, side, count, x, false);
    SIMD_FOREACH_REAL(solve, job->dtype == HR_F64)
    (upper, job->unit, size, triangle, x, x_row, count);
    if (!in_place) move_chunk(job, first, size, side, count, x, true);
  }
}

/* --- solves --- */

/* Solves the independent half first. */
static void solve_part(const triangular_job_t *job, int64_t first, int64_t size, void *space) {
  if (size <= LEAF) {
    solve_leaf(job, first, size);
    return;
  }
  int64_t half = half_of(size), middle = first + half, rest = size - half;
  if (job->upper == job->right) {
    solve_part(job, first, half, space);
    update(job, first, half, middle, rest, space);
    solve_part(job, middle, rest, space);
  } else {
    solve_part(job, middle, rest, space);
    update(job, middle, rest, first, half, space);
    solve_part(job, first, half, space);
  }
}

size_t triangular_space_bytes(hr_dtype_t dtype, int64_t size, int64_t sides) {
  size_t most = 0;
  int64_t half = half_of(size), across = hr_max(size, sides);
  for (int transposed = 0; transposed < 2; transposed++) {
    gemm_job_t job = {.dtype = dtype, .m = across, .n = across, .k = half};
    job.a_row = job.b_row = transposed ? 1 : size;
    job.a_col = job.b_col = transposed ? size : 1;
    size_t bytes = gemm_space_bytes(&job);
    most = bytes > most ? bytes : most;
  }
  return (most + 63) / 64 * 64;
}

void triangular_solve(const triangular_job_t *job, void *space) {
  solve_part(job, 0, job->size, space);
}

/* --- Cholesky --- */

/* Factors column by column; the columns are rows of a transposed copy, which are contiguous. */
#define DEFINE_FACTOR(T, SQRT)                                                           \
  NATIVE_CLONES static int64_t factor_##T(int64_t n, T *a, int64_t a_row) {              \
    T columns[LEAF * LEAF];                                                              \
    for (int64_t i = 0; i < LEAF * LEAF; i++) columns[i] = 0;                            \
    for (int64_t i = 0; i < n; i++)                                                      \
      for (int64_t j = 0; j <= i; j++) columns[j * LEAF + i] = a[i * a_row + j];         \
    for (int64_t j = 0; j < n; j++) {                                                    \
      T *column = columns + j * LEAF, square = column[j];                                \
      if (!(square > 0)) return j + 1;                                                   \
      T root = SQRT(square);                                                             \
      column[j] = root;                                                                  \
      for (int64_t i = j + 1; i < n; i++) column[i] /= root;                             \
      for (int64_t c = j + 1; c < n; c++) {                                              \
        T *other = columns + c * LEAF, factor = column[c];                               \
        for (int64_t i = c / UNIT * UNIT; i < LEAF; i++) other[i] -= column[i] * factor; \
      }                                                                                  \
    }                                                                                    \
    for (int64_t i = 0; i < n; i++)                                                      \
      for (int64_t j = 0; j <= i; j++) a[i * a_row + j] = columns[j * LEAF + i];         \
    return 0;                                                                            \
  }
DEFINE_FACTOR(float, sqrtf)
DEFINE_FACTOR(double, sqrt)

/* A product of rows by themselves, of which the lower triangle is needed: blocks above it are left
 * out. */
static void update_lower(const gemm_job_t *square, void *space) {
  gemm_job_t job = *square;
  int64_t bytes = (int64_t)hr_dtype_bytes(job.dtype), half = half_of(job.m);
  if (job.m < LEAST_SPLIT) {
    gemm_run_serial(&job, 0, space);
    return;
  }
  job.m = half;
  job.n = half;
  update_lower(&job, space);
  job.a = (const char *)square->a + half * square->a_row * bytes;
  job.c = (char *)square->c + half * square->c_row * bytes;
  job.m = square->m - half;
  gemm_run_serial(&job, 0, space);
  job.b = job.a;
  job.c = (char *)job.c + half * bytes;
  job.n = job.m;
  update_lower(&job, space);
}

int64_t triangular_cholesky(hr_dtype_t dtype, int64_t n, void *a, int64_t a_row, void *space) {
  if (n <= LEAF) return dtype == HR_F32 ? factor_float(n, a, a_row) : factor_double(n, a, a_row);
  int64_t half = half_of(n), rest = n - half, bytes = (int64_t)hr_dtype_bytes(dtype);
  char *below = (char *)a + half * a_row * bytes, *corner = below + half * bytes;
  int64_t info = triangular_cholesky(dtype, half, a, a_row, space);
  if (info) return info;
  triangular_job_t panel = {.dtype = dtype,
                            .right = true,
                            .upper = true,
                            .size = half,
                            .sides = rest,
                            .t = a,
                            .t_row = 1,
                            .t_col = a_row,
                            .x = below,
                            .x_row = a_row};
  triangular_solve(&panel, space);
  gemm_job_t square = product(&panel, rest, rest, half);
  square.a = square.b = below;
  square.a_row = square.b_col = a_row;
  square.a_col = square.b_row = 1;
  square.c = corner;
  square.c_row = a_row;
  update_lower(&square, space);
  info = triangular_cholesky(dtype, rest, corner, a_row, space);
  return info ? half + info : 0;
}
