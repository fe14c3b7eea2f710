/* Zeros at the ends of matrices: see dot_zero_tail.h.
 *
 *   rows of a    only the first of the last rows of zeros is multiplied, and its results are those
 *                of the others: 0, or NaN in columns of b that are not finite
 *   terms        skipped if b is finite, as they add 0; and only if all terms are one panel, so
 *                that the others are summed as before
 *
 * Cost: for a matrix without such rows, a test of the first elements of its last row and column. */
#include "ops/kernels/dot/dot_zero_tail.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

enum { BLOCK = 64 }; /* elements that are tested together */

#define DEFINE_CHECKS(NAME, T)                                                           \
  NATIVE_CLONES static bool NAME##_are_zero(const T *x, int64_t step, int64_t count) {   \
    for (int64_t i = 0; i < count; i += BLOCK) {                                         \
      int64_t last = hr_min(i + BLOCK, count), found = 0;                                \
      if (x[i * step] != 0) return false;                                                \
      for (int64_t j = i; j < last; j++) found += x[j * step] != 0;                      \
      if (found) return false;                                                           \
    }                                                                                    \
    return true;                                                                         \
  }                                                                                      \
  NATIVE_CLONES static bool NAME##_are_finite(const T *x, int64_t step, int64_t count) { \
    int64_t found = 0;                                                                   \
    for (int64_t i = 0; i < count; i++) found += x[i * step] - x[i * step] != 0;         \
    return !found;                                                                       \
  }
DEFINE_CHECKS(f32, float)
DEFINE_CHECKS(f64, double)

static bool are_zero(const gemm_job_t *job, int64_t first, int64_t step, int64_t count) {
  if (job->dtype == HR_F64) return f64_are_zero((const double *)job->a + first, step, count);
  return f32_are_zero((const float *)job->a + first, step, count);
}

static bool are_finite(const gemm_job_t *job, int64_t first, int64_t step, int64_t count) {
  if (job->dtype == HR_F64) return f64_are_finite((const double *)job->b + first, step, count);
  return f32_are_finite((const float *)job->b + first, step, count);
}

/* One term is kept, as products without terms write nothing. */
static void leave_out_terms(gemm_job_t *job) {
  if (job->packed_b || gemm_panels_of(job).depth < job->k) return;
  while (job->k > 1 && are_zero(job, (job->k - 1) * job->a_col, job->a_row, job->m) &&
         are_finite(job, (job->k - 1) * job->b_row, job->b_col, job->n))
    job->k--;
}

int64_t dot_leave_out_zeros(gemm_job_t *job) {
  int64_t zeros = 0;
  leave_out_terms(job);
  if (job->finish) return 0; /* rows are read by the epilogue as soon as they are computed */
  while (zeros < job->m && are_zero(job, (job->m - 1 - zeros) * job->a_row, job->a_col, job->k))
    zeros++;
  if (zeros < 2) return 0;
  job->m -= zeros - 1;
  return zeros - 1;
}

void dot_repeat_last_row(const gemm_job_t *job, int64_t count) {
  int64_t bytes = (int64_t)hr_dtype_bytes(job->dtype), step = job->c_row * bytes;
  char *row = (char *)job->c + (job->m - 1) * step;
  for (int64_t i = 1; i <= count; i++) memcpy(row + i * step, row, (size_t)(job->n * bytes));
}
