/* Triangular factors of matrices of f32, f64, c64 and c128 by built-in kernels, most of the work
 * being products (gemm.h), which workers share. Matrices are row-major. Thread: any, with scratch
 * memory of its own. */
#ifndef HLO_OPS_LU_H
#define HLO_OPS_LU_H

#include "ops/kernels/gemm/gemm.h"

typedef struct lu_matrix {
  hr_dtype_t dtype;
  int64_t m, n;
  void *data;
  int64_t stride;  /* elements from row to row */
  int32_t *pivots; /* min(m, n): row i was exchanged with row pivots[i], counted from 1 */
} lu_matrix_t;

/* Scratch memory of one worker, for a matrix of at most m rows; aligned to 64 bytes. */
size_t lu_space_bytes(hr_dtype_t dtype, int64_t m);
/* P A = L U in place, as LAPACK's getrf. `space`: a piece of space_bytes for each of the workers.
 * Returns 0, or the first i (from 1) whose pivot is zero. */
int64_t lu_factor(hr_workers_t *workers, const lu_matrix_t *matrix, void *space,
                  size_t space_bytes);
typedef enum lu_triangle { LU_LOWER, LU_UPPER } lu_triangle_t;

/* x = a^-1 x for a few right-hand sides: a is a triangle of n rows, x has `columns` columns. */
void lu_solve_few(hr_dtype_t dtype, lu_triangle_t triangle, bool unit, int64_t n, const void *a,
                  int64_t a_step, int64_t columns, void *x, int64_t x_step);

#endif
