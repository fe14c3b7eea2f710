/* Triangular solves and Cholesky factors of real row-major matrices by halves, whose products
 * gemm.h computes. Thread: any, each with its own scratch memory. */
#ifndef HLO_OPS_TRIANGULAR_HALVES_H
#define HLO_OPS_TRIANGULAR_HALVES_H

#include "ops/kernels/gemm/gemm.h"

/* x = t^-1 x, or x t^-1 with the triangle on the right. Sizes and strides in elements. */
typedef struct triangular_job {
  hr_dtype_t dtype; /* HR_F32 or HR_F64 */
  bool right, upper, unit;
  int64_t size;  /* order of the triangle */
  int64_t sides; /* columns of x; its rows if the triangle is on the right */
  const void *t; /* element (i, j) is at i t_row + j t_col: a transpose swaps these */
  int64_t t_row, t_col;
  void *x;
  int64_t x_row; /* row stride; columns are dense */
} triangular_job_t;

/* Bytes of scratch memory for at most these sizes, to be aligned to 64 bytes. */
size_t triangular_space_bytes(hr_dtype_t dtype, int64_t size, int64_t sides);
/* Order: that of sums depends on `size` only, so that bits are equal for any number of sides. */
void triangular_solve(const triangular_job_t *job, void *space);

/* The same for one side, whose elements are adjacent, and a triangle of which rows or columns are
 * dense; without scratch memory. */
void triangular_solve_vector(const triangular_job_t *job);

/* The lower Cholesky factor of the lower triangle of an n x n matrix, in place; the other triangle
 * is undefined. space: triangular_space_bytes(dtype, n, n). Returns: 0, or the order of the first
 * minor that is not positive definite, like LAPACK's potrf. */
int64_t triangular_cholesky(hr_dtype_t dtype, int64_t n, void *a, int64_t a_row, void *space);

#endif
