#include "ops/blas.h"

#include "base/dl.h"

enum { ROW_MAJOR = 101, AS_IT_LIES = 111, TURNED = 112 }; /* of the C interface of BLAS */

typedef void (*gemm_real_fn)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                             double *, int);
typedef void (*gemm_single_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                               float *, int);
typedef void (*gemm_complex_fn)(int, int, int, int, int, int, const void *, const void *, int, const void *, int,
                                const void *, void *, int);

bool blas_gemm_open(hr_dtype_t dtype, blas_gemm_t *out_gemm) {
  const char *name = dtype == HR_F32    ? "cblas_sgemm"
                     : dtype == HR_F64  ? "cblas_dgemm"
                     : dtype == HR_C64  ? "cblas_cgemm"
                     : dtype == HR_C128 ? "cblas_zgemm"
                                        : NULL;
  void *function;
  if (!name) return false;
  hr_status_t missing = hr_dl_symbol(HR_LIBRARY_LAPACK, name, &function);
  if (!missing) *out_gemm = (blas_gemm_t){dtype, function};
  bool found = !missing;
  hr_status_release(missing);
  return found;
}

void blas_gemm_run(const blas_gemm_t *gemm, int m, int n, int k, blas_matrix_t a, blas_matrix_t b, void *c,
                   int c_step) {
  static const double one[2] = {1, 0}, zero[2] = {0, 0};
  static const float one_single[2] = {1, 0}, zero_single[2] = {0, 0};
  int a_form = a.turned ? TURNED : AS_IT_LIES, b_form = b.turned ? TURNED : AS_IT_LIES;
  void *f = gemm->function;
  switch (gemm->dtype) {
    case HR_F32:
      ((gemm_single_fn)f)(ROW_MAJOR, a_form, b_form, m, n, k, 1, a.data, a.step, b.data, b.step, 0, c, c_step);
      return;
    case HR_F64:
      ((gemm_real_fn)f)(ROW_MAJOR, a_form, b_form, m, n, k, 1, a.data, a.step, b.data, b.step, 0, c, c_step);
      return;
    case HR_C64:
      ((gemm_complex_fn)f)(ROW_MAJOR, a_form, b_form, m, n, k, one_single, a.data, a.step, b.data, b.step, zero_single,
                           c, c_step);
      return;
    default:
      ((gemm_complex_fn)f)(ROW_MAJOR, a_form, b_form, m, n, k, one, a.data, a.step, b.data, b.step, zero, c, c_step);
  }
}
