/* Four-step transform (Bailey): a line of n = n1 n2 elements as a matrix of n1 rows of n2 elements.
 * With j = j1 n2 + j2 and k = k1 + k2 n1,
 *
 *   1. columns: transforms of length n1 from j1 to k1, then times w^(j2 k1), w = e^(-2 pi i / n)
 *   2. rows:    transforms of length n2 from j2 to k2, written as columns of the result
 *
 * Both passes process FFT_COLUMNS lines at a time in a worker's cache, so that memory is read and
 * written twice. Powers of w are products of two table entries, fine and coarse: errors of two
 * roundings. */
#include "ops/kernels/fft/fft_long.h"

#include <math.h>

#include "base/arith.h"
#include "ops/kernels/common/native_common.h"
#include "ops/kernels/fft/fft_lines.h"
#include "ops/kernels/simd/simd_target.h"

#define LONG_BYTES (1 << 20)  /* bytes from which a line exceeds a core's L2 cache */
#define SPLIT_BYTES (1 << 18) /* bytes from which all workers share a single line */
#define MIN_FACTOR 64         /* smallest n1 that pays */
#define FINE 1024             /* entries of the fine table of roots */
#define RUN 32                /* elements that share a coarse factor */

typedef struct root {
  double re, im;
} root_t;

struct fft_long {
  fftw_library_t library;
  fft_line_kind_t kind;
  int64_t n1, n2;
  fft_lines_t columns, rows;
  root_t *fine, *coarse; /* w^e for e < FINE, and for e = FINE i */
  size_t worker_at, worker_bytes;
};

typedef struct long_job {
  const fft_long_t *plan;
  const char *in;
  char *middle, *out, *workers;
} long_job_t;

static root_t root_multiply(root_t a, root_t b) {
  return (root_t){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static root_t root_power(const fft_long_t *plan, int64_t exponent) {
  int64_t e = exponent % plan->kind.length;
  return root_multiply(plan->coarse[e / FINE], plan->fine[e % FINE]);
}

/* line[i] *= far[i / RUN] near[i % RUN] */
#define DEFINE_TWIDDLE(T)                                                           \
  NATIVE_CLONES static void twiddle_##T(T *line, int64_t length, const root_t *far, \
                                        const root_t *near) {                       \
    T re[RUN], im[RUN];                                                             \
    for (int i = 0; i < RUN; i++) {                                                 \
      re[i] = (T)near[i].re;                                                        \
      im[i] = (T)near[i].im;                                                        \
    }                                                                               \
    for (int64_t at = 0; at < length; at += RUN) {                                  \
      T far_re = (T)far[at / RUN].re, far_im = (T)far[at / RUN].im;                 \
      int64_t count = hr_min(RUN, length - at);                                     \
      for (int64_t i = 0; i < count; i++) {                                         \
        T c = far_re * re[i] - far_im * im[i], s = far_re * im[i] + far_im * re[i]; \
        T a = line[2 * (at + i)], b = line[2 * (at + i) + 1];                       \
        line[2 * (at + i)] = a * c - b * s;                                         \
        line[2 * (at + i) + 1] = a * s + b * c;                                     \
      }                                                                             \
    }                                                                               \
  }
NATIVE_OPTIMIZE
DEFINE_TWIDDLE(float)
DEFINE_TWIDDLE(double)

/* Twiddle factors of column j2, times the scale. */
static void multiply_twiddles(const fft_long_t *plan, void *line, int64_t j2, root_t *far) {
  root_t near[RUN];
  for (int i = 0; i < RUN; i++) near[i] = root_power(plan, j2 * i);
  for (int64_t i = 0; i * RUN < plan->n1; i++) {
    far[i] = root_power(plan, j2 * i * RUN);
    far[i].re *= plan->kind.scale;
    far[i].im *= plan->kind.scale;
  }
  if (plan->kind.element_bytes == 16)
    twiddle_double(line, plan->n1, far, near);
  else
    twiddle_float(line, plan->n1, far, near);
}

static char *worker_space(const long_job_t *job, int worker) {
  return job->workers + (size_t)worker * job->plan->worker_bytes;
}

/* Step 1: gathers blocks of columns, transforms them, multiplies by twiddles, and scatters them to
 * `middle`. */
static void run_columns(void *context, int64_t begin, int64_t end, int worker) {
  const long_job_t *job = context;
  const fft_long_t *plan = job->plan;
  int64_t each = plan->kind.element_bytes, stride = fft_padded_length(each, plan->n1);
  char *space = worker_space(job, worker);
  root_t *far = (root_t *)(space + FFT_COLUMNS * stride * each);
  for (int64_t block = begin; block < end; block++) {
    int64_t first = block * FFT_COLUMNS, count = hr_min(FFT_COLUMNS, plan->n2 - first);
    fft_gather(each, job->in + first * each, plan->n2, plan->n1, count, space, stride);
    plan->library.execute_dft(count == FFT_COLUMNS ? plan->columns.many : plan->columns.rest, space,
                              space);
    for (int64_t c = 0; c < count; c++)
      multiply_twiddles(plan, space + c * stride * each, first + c, far);
    fft_scatter(each, space, stride, plan->n1, count, job->middle + first * each, plan->n2);
  }
}

/* Step 2: transforms blocks of rows and scatters them as columns of the result. */
static void run_rows(void *context, int64_t begin, int64_t end, int worker) {
  const long_job_t *job = context;
  const fft_long_t *plan = job->plan;
  int64_t each = plan->kind.element_bytes, stride = fft_padded_length(each, plan->n2);
  char *space = worker_space(job, worker);
  for (int64_t block = begin; block < end; block++) {
    int64_t first = block * FFT_COLUMNS, count = hr_min(FFT_COLUMNS, plan->n1 - first);
    plan->library.execute_dft(count == FFT_COLUMNS ? plan->rows.many : plan->rows.rest,
                              job->middle + first * plan->n2 * each, space);
    fft_scatter(each, space, stride, plan->n2, count, job->out + first * each, plan->n1);
  }
}

/* All workers share each line: columns of one line, then its rows. */
void fft_long_run(const fft_long_t *plan, hr_workers_t *workers, void *scratch, const void *in,
                  void *out) {
  int64_t bytes = plan->kind.length * plan->kind.element_bytes;
  for (int64_t line = 0; line < plan->kind.line_count; line++) {
    long_job_t job = {plan, (const char *)in + line * bytes, scratch, (char *)out + line * bytes,
                      (char *)scratch + plan->worker_at};
    hr_workers_for(workers, hr_div_ceil(plan->n2, FFT_COLUMNS), 1, run_columns, &job);
    hr_workers_for(workers, hr_div_ceil(plan->n1, FFT_COLUMNS), 1, run_rows, &job);
  }
}

/* --- planning --- */

static bool is_long(const fft_line_kind_t *kind) {
  int64_t bytes = kind->length * kind->element_bytes;
  return bytes >= LONG_BYTES || (bytes >= SPLIT_BYTES && kind->line_count == 1);
}

/* The largest factor of `length` that is at most its square root. */
static int64_t near_sqrt_factor(int64_t length) {
  int64_t factor = (int64_t)sqrt((double)length);
  while (length % factor) factor--;
  return factor;
}

/* root(j) = coarse[j / FINE] * fine[j % FINE]: two short tables instead of one of n entries. */
static hr_status_t plan_roots(const op_native_target_t *target, fft_long_t *plan) {
  int64_t length = plan->kind.length, coarse = length / FINE + 1;
  double unit_angle =
      (plan->kind.type == HLO_FFT_TYPE_FFT ? -2 : 2) * 3.14159265358979323846 / (double)length;
  HR_TRY(HR_NEW_ARRAY(target->arena, FINE, &plan->fine));
  HR_TRY(HR_NEW_ARRAY(target->arena, coarse, &plan->coarse));
  for (int64_t i = 0; i < FINE; i++)
    plan->fine[i] = (root_t){cos(unit_angle * (double)i), sin(unit_angle * (double)i)};
  for (int64_t i = 0; i < coarse; i++)
    plan->coarse[i] =
        (root_t){cos(unit_angle * (double)(i * FINE)), sin(unit_angle * (double)(i * FINE))};
  return NULL;
}

static hr_status_t plan_passes(const op_native_target_t *target, fft_long_t *plan) {
  int64_t each = plan->kind.element_bytes;
  int64_t column_step = fft_padded_length(each, plan->n1),
          row_stride = fft_padded_length(each, plan->n2);
  fft_form_t columns = {plan->kind.type, plan->n1, FFT_COLUMNS, column_step, column_step, true};
  fft_form_t rows = {plan->kind.type, plan->n2, FFT_COLUMNS, plan->n2, row_stride, false};
  HR_TRY(fft_lines_plan(target, &plan->library, columns, plan->n2, &plan->columns));
  return fft_lines_plan(target, &plan->library, rows, plan->n1, &plan->rows);
}

static size_t plan_long_scratch(const op_native_target_t *target, fft_long_t *plan) {
  size_t total = 0, each = (size_t)plan->kind.element_bytes;
  scratch_reserve(&total, (size_t)plan->kind.length * each);
  plan->worker_at = total;
  size_t longest = (size_t)fft_padded_length((int64_t)each, plan->n2),
         roots = ((size_t)plan->n1 / RUN + 1);
  plan->worker_bytes = (FFT_COLUMNS * longest * each + roots * sizeof(root_t) + 63) / 64 * 64;
  return total + plan->worker_bytes * (size_t)target->workers;
}

hr_status_t fft_long_plan(const op_native_target_t *target, const fftw_library_t *library,
                          const fft_line_kind_t *kind, size_t *out_scratch_bytes,
                          const fft_long_t **out_plan) {
  fft_long_t *plan;
  if (!is_long(kind)) return NULL;
  int64_t factor = near_sqrt_factor(kind->length);
  if (factor < MIN_FACTOR) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->library = *library;
  plan->kind = *kind;
  plan->n1 = factor;
  plan->n2 = kind->length / factor;
  HR_TRY(plan_passes(target, plan));
  if (!fft_lines_exist(&plan->columns, plan->n2) || !fft_lines_exist(&plan->rows, plan->n1))
    return NULL;
  HR_TRY(plan_roots(target, plan));
  *out_scratch_bytes = plan_long_scratch(target, plan);
  *out_plan = plan;
  return NULL;
}
