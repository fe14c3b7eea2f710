/* Calls of BLAS and LAPACK by element type. Real scalars are passed by value and complex ones by
 * pointer, so there is a function type for each; the routines themselves are looked up by name in
 * whatever library is installed. */
#include "ops/kernels/linalg/blas_routines.h"

#include "ops/kernels/linalg/native_linalg.h"

typedef void (*potrf_fn)(const char *uplo, const int *n, void *a, const int *step, int *info,
                         size_t one);
typedef void (*complex_trsm_fn)(int, int, int, int, int, int, int, const void *, const void *, int,
                                void *, int);
typedef void (*single_trsm_fn)(int, int, int, int, int, int, int, float, const void *, int, void *,
                               int);
typedef void (*double_trsm_fn)(int, int, int, int, int, int, int, double, const void *, int, void *,
                               int);
typedef void (*complex_gemm_fn)(int, int, int, int, int, int, const void *, const void *, int,
                                const void *, int, const void *, void *, int);
typedef void (*single_gemm_fn)(int, int, int, int, int, int, float, const void *, int, const void *,
                               int, float, void *, int);
typedef void (*double_gemm_fn)(int, int, int, int, int, int, double, const void *, int,
                               const void *, int, double, void *, int);

/* False if the type or the library is missing. */
bool blas_routines_find(hr_dtype_t dtype, blas_routines_t *out) {
  out->dtype = dtype;
  return native_lapack_find(dtype, "", "potrf_", &out->potrf) &&
         native_lapack_find(dtype, "cblas_", "trsm", &out->trsm) &&
         native_lapack_find(dtype, "cblas_", "gemm", &out->gemm);
}

static const double one[2] = {1, 0}, minus_one[2] = {-1, 0};
static const float single_one[2] = {1, 0}, single_minus_one[2] = {-1, 0};

/* x = op(a)^-1 x, or x op(a)^-1 (trsm); row-major. */
void blas_trsm(const blas_routines_t *r, int side, int uplo, int transpose, int diagonal, int m,
               int n, const void *a, int a_step, void *x, int x_step) {
  if (r->dtype == HR_F32)
    ((single_trsm_fn)r->trsm)(BLAS_ROW_MAJOR, side, uplo, transpose, diagonal, m, n, 1, a, a_step,
                              x, x_step);
  else if (r->dtype == HR_F64)
    ((double_trsm_fn)r->trsm)(BLAS_ROW_MAJOR, side, uplo, transpose, diagonal, m, n, 1, a, a_step,
                              x, x_step);
  else
    ((complex_trsm_fn)r->trsm)(BLAS_ROW_MAJOR, side, uplo, transpose, diagonal, m, n,
                               r->dtype == HR_C64 ? (const void *)single_one : one, a, a_step, x,
                               x_step);
}

/* c = c - a b^H (gemm); row-major, one stride for all three. */
void blas_gemm_subtract(const blas_routines_t *r, int m, int n, int k, const void *a, const void *b,
                        void *c, int step) {
  if (r->dtype == HR_F32)
    ((single_gemm_fn)r->gemm)(BLAS_ROW_MAJOR, BLAS_NO_TRANSPOSE, BLAS_TRANSPOSE, m, n, k, -1, a,
                              step, b, step, 1, c, step);
  else if (r->dtype == HR_F64)
    ((double_gemm_fn)r->gemm)(BLAS_ROW_MAJOR, BLAS_NO_TRANSPOSE, BLAS_TRANSPOSE, m, n, k, -1, a,
                              step, b, step, 1, c, step);
  else if (r->dtype == HR_C64)
    ((complex_gemm_fn)r->gemm)(BLAS_ROW_MAJOR, BLAS_NO_TRANSPOSE, BLAS_CONJ_TRANSPOSE, m, n, k,
                               single_minus_one, a, step, b, step, single_one, c, step);
  else
    ((complex_gemm_fn)r->gemm)(BLAS_ROW_MAJOR, BLAS_NO_TRANSPOSE, BLAS_CONJ_TRANSPOSE, m, n, k,
                               minus_one, a, step, b, step, one, c, step);
}

/* Cholesky factor of a row-major matrix in place. LAPACK reads its transpose, hence the other
 * triangle. */
int blas_potrf(const blas_routines_t *r, bool lower, int n, void *a, int step) {
  int info = 0;
  ((potrf_fn)r->potrf)(lower ? "U" : "L", &n, a, &step, &info, 1);
  return info;
}
