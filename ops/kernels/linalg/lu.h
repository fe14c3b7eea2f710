/* LU factorisation with partial pivoting, and triangular solves, for row-major matrices of f32,
 * f64, c64 and c128, without BLAS. Most of the work is matrix products (gemm.h), which workers
 * share. Thread: any, with its own scratch memory. */
#ifndef HLO_OPS_LU_H
#define HLO_OPS_LU_H

#include "ops/kernels/gemm/gemm.h"

typedef struct lu_matrix {
  hr_dtype_t dtype;
  int64_t m, n; /* rows, columns */
  void *data;
  int64_t stride;  /* elements from row to row */
  int32_t *pivots; /* min(m, n) entries: row i was swapped with row pivots[i]; both from 1 */
} lu_matrix_t;

/* Scratch bytes per worker for a matrix of at most m rows and n columns, to be aligned to 64
 * bytes. */
size_t lu_space_bytes(hr_dtype_t dtype, int64_t m, int64_t n);
/* P A = L U in place, like LAPACK's getrf.
 * Memory:  space_bytes (lu_space_bytes) at `space` for each worker.
 * Cost:    2/3 n^3 flops for a square matrix.
 * Returns: 0, or the first i (from 1) whose pivot is zero; the factorisation is complete either
 * way. */
int64_t lu_factor(hr_workers_t *workers, const lu_matrix_t *matrix, void *space,
                  size_t space_bytes);
typedef enum lu_triangle { LU_LOWER, LU_UPPER } lu_triangle_t;

/* A triangle of a row-major matrix. */
typedef struct lu_triangular {
  hr_dtype_t dtype;
  lu_triangle_t triangle;
  bool has_unit_diagonal; /* the diagonal counts as ones and is not read */
  int64_t n;
  const void *data;
  int64_t stride; /* from one row to the next, in elements */
} lu_triangular_t;

/* x = a^-1 x for few right-hand sides, the columns of x. x_stride: from one row to the next, in
 * elements. For sizes whose work is less than the overhead of a BLAS call. */
void lu_solve_few(const lu_triangular_t *a, int64_t columns, void *x, int64_t x_stride);

#endif
