/* Products of a left matrix that is almost all zeros: for each nonzero element, in ascending order
 * of k, its multiple of a row of b is added to a row of c. Sparsity is estimated from samples of
 * the matrix: SAMPLES stretches of SAMPLE_ELEMENTS. For a dense matrix the first samples suffice.
 *
 *   a by rows       rows of c are shared out; each is the sum over its row of a
 *   a by columns    the same ranges of rows, for all columns of a one after the other
 *
 * Cost: one read of a, one of b to find out whether it is finite, and n multiply-adds for each
 * element that is not zero. Not handled: complex numbers, operands that are packed, or read by
 * offsets. */
#include "ops/kernels/dot/dot_sparse.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/conv/conv_nonfinite.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

enum {
  SAMPLES = 64,
  SAMPLE_ELEMENTS = 64,
  SPARSE_SHARE = 32, /* at most one of this many elements is nonzero */
  LEAST_SIDE = 64,   /* least rows, columns and terms of products that are worth it */
  BLOCK = 64,        /* elements of a that are tested together */
  ROW_UNIT = 16      /* least rows of a task */
};

bool dot_sparse_suits(const gemm_job_t *job) {
  bool strided = !job->a_rows && !job->a_cols && !job->b_rows && !job->b_cols;
  return (job->dtype == HR_F32 || job->dtype == HR_F64) && strided && !job->packed_b &&
         !job->fill && job->mode == GEMM_SET && job->m >= LEAST_SIDE && job->n >= LEAST_SIDE &&
         job->k >= LEAST_SIDE && job->b_col == 1 && job->b_row == job->n &&
         ((job->a_col == 1 && job->a_row == job->k) || (job->a_row == 1 && job->a_col == job->m));
}

/* Type-dependent functions. count_nonzero: of `count` adjacent elements. add_row: c += factor *
 * b. */
#define DEFINE_SPARSE(NAME, T)                                                                    \
  NATIVE_CLONES static int64_t NAME##_count_nonzero(const T *a, int64_t count) {                  \
    int64_t found = 0;                                                                            \
    for (int64_t i = 0; i < count; i++) found += a[i] != 0;                                       \
    return found;                                                                                 \
  }                                                                                               \
  NATIVE_CLONES static void NAME##_add_row(T factor, const T *b, int64_t count, T *c) {           \
    for (int64_t j = 0; j < count; j++) c[j] += factor * b[j];                                    \
  }                                                                                               \
  /* Elements of a that follow each other: of a row (c_step 0), or of rows of c. */               \
  static void NAME##_add_block(const gemm_job_t *job, const T *a, int64_t count, const T *b,      \
                               int64_t b_step, T *c, int64_t c_step) {                            \
    if (!NAME##_count_nonzero(a, count)) return;                                                  \
    for (int64_t i = 0; i < count; i++)                                                           \
      if (a[i] != 0) NAME##_add_row(a[i], b + i * b_step, job->n, c + i * c_step);                \
  }                                                                                               \
  static void NAME##_rows(const gemm_job_t *job, int64_t begin, int64_t end) {                    \
    const T *a = job->a, *b = job->b;                                                             \
    T *c = job->c;                                                                                \
    for (int64_t r = begin; r < end; r++)                                                         \
      memset(c + r * job->c_row, 0, (size_t)job->n * sizeof(T));                                  \
    if (job->a_col == 1) {                                                                        \
      for (int64_t r = begin; r < end; r++)                                                       \
        for (int64_t k = 0; k < job->k; k += BLOCK)                                               \
          NAME##_add_block(job, a + r * job->a_row + k, hr_min(BLOCK, job->k - k),                \
                           b + k * job->b_row, job->b_row, c + r * job->c_row, 0);                \
      return;                                                                                     \
    }                                                                                             \
    for (int64_t k = 0; k < job->k; k++)                                                          \
      for (int64_t r = begin; r < end; r += BLOCK)                                                \
        NAME##_add_block(job, a + k * job->a_col + r, hr_min(BLOCK, end - r), b + k * job->b_row, \
                         0, c + r * job->c_row, job->c_row);                                      \
  }
DEFINE_SPARSE(f32, float)
DEFINE_SPARSE(f64, double)

static int64_t count_nonzero(const gemm_job_t *job, int64_t first, int64_t count) {
  if (job->dtype == HR_F64) return f64_count_nonzero((const double *)job->a + first, count);
  return f32_count_nonzero((const float *)job->a + first, count);
}

/* Samples at equal distances; the test ends when half of one is nonzero. */
static bool is_sparse(const gemm_job_t *job) {
  int64_t found = 0, all = job->m * job->k;
  for (int64_t i = 0; i < SAMPLES; i++) {
    int64_t first = i * (all - SAMPLE_ELEMENTS) / (SAMPLES - 1);
    found += count_nonzero(job, first, SAMPLE_ELEMENTS);
    if (found * SPARSE_SHARE > SAMPLES * SAMPLE_ELEMENTS) return false;
  }
  return true;
}

/* Whole rows are final when they are done. */
static void run_rows(void *context, int64_t begin, int64_t end, int worker) {
  const gemm_job_t *job = context;
  int64_t first = begin * ROW_UNIT;
  int64_t limit = hr_min(end * ROW_UNIT, job->m);
  if (job->dtype == HR_F64)
    f64_rows(job, first, limit);
  else
    f32_rows(job, first, limit);
  if (job->finish) job->finish(job->finish_context, worker, first, limit - first, 0, job->n);
}

bool dot_sparse_run(hr_workers_t *workers, const gemm_job_t *job) {
  gemm_job_t copy = *job;
  if (!is_sparse(job) || !conv_are_finite(workers, job->dtype, job->b, job->k * job->n))
    return false;
  hr_workers_split(workers, hr_div_ceil(job->m, ROW_UNIT), 1, run_rows, &copy);
  return true;
}
