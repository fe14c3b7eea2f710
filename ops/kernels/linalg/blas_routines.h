/* BLAS and LAPACK routines of one element type, called on row-major matrices. Leading dimensions
 * (`a_step`, `x_step`, `step`) are in elements. Each call uses the thread of its caller. */
#ifndef HLO_OPS_BLAS_ROUTINES_H
#define HLO_OPS_BLAS_ROUTINES_H

#include <stdbool.h>

#include "base/dtype.h"

/* Constants of the CBLAS interface. */
enum {
  BLAS_ROW_MAJOR = 101,
  BLAS_NO_TRANSPOSE = 111,
  BLAS_TRANSPOSE,
  BLAS_CONJ_TRANSPOSE,
  BLAS_UPPER = 121,
  BLAS_LOWER,
  BLAS_NON_UNIT = 131,
  BLAS_UNIT,
  BLAS_LEFT = 141,
  BLAS_RIGHT
};

/* LAPACK's and CBLAS's routines of one element type. */
typedef struct blas_routines {
  hr_dtype_t dtype;
  void *potrf, *trsm, *gemm;
} blas_routines_t;

/* False if the type has no routines (only f32, f64, c64 and c128 have), or the library or one of
 * the routines is missing. */
bool blas_routines_find(hr_dtype_t dtype, blas_routines_t *out);

/* x = op(a)^-1 x, or x op(a)^-1 with the triangle on the right: x is m x n. */
void blas_trsm(const blas_routines_t *r, int side, int uplo, int transpose, int diagonal, int m,
               int n, const void *a, int a_step, void *x, int x_step);

/* c = c - a b^H: c is m x n, a is m x k, b is n x k, with one leading dimension for all three. */
void blas_gemm_subtract(const blas_routines_t *r, int m, int n, int k, const void *a, const void *b,
                        void *c, int step);

/* Cholesky factor of an n x n matrix in place; the other triangle is unchanged. Returns LAPACK's
 * info: the order of the first minor that is not positive definite, or 0. */
int blas_potrf(const blas_routines_t *r, bool lower, int n, void *a, int step);

#endif
