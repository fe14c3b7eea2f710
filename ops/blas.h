/* Products of matrices of f32, f64, c64 and c128 by BLAS, which keeps to one thread a call. Thread: any. */
#ifndef HLO_OPS_BLAS_H
#define HLO_OPS_BLAS_H

#include "base/dtype.h"

typedef struct blas_gemm {
  hr_dtype_t dtype;
  void *function;
} blas_gemm_t;

/* False: the type is none of the four, or there is no library. */
bool blas_gemm_open(hr_dtype_t dtype, blas_gemm_t *out_gemm);

/* A matrix, row-major; a turned one lies as its transpose. */
typedef struct blas_matrix {
  const void *data;
  int step; /* elements from row to row, as it lies */
  bool turned;
} blas_matrix_t;

/* c = a b, where a is [m][k] and b [k][n]; c_step in elements. */
void blas_gemm_run(const blas_gemm_t *gemm, int m, int n, int k, blas_matrix_t a, blas_matrix_t b, void *c, int c_step);

#endif
