/* FFTW plans that live as long as the program, and cache-blocked copies of columns. FFTW's planner
 * is not thread-safe: it runs with fftw_lock held. */
#include "ops/kernels/fft/fft_lines.h"

#define PAD_BYTES 64

typedef struct owned_plan {
  fftw_library_t library;
  fftw_plan plan;
} owned_plan_t;

/* Runs when the program is released. */
static void destroy_owned_plan(void *object) {
  const owned_plan_t *owned = object;
  fftw_lock();
  if (owned->plan) owned->library.destroy_plan(owned->plan);
  fftw_unlock();
}

/* FFTW_ESTIMATE does not access the arrays; the dummies only have the alignment of the real
 * ones. */
static fftw_plan create_plan(const fftw_library_t *library, const fft_form_t *f) {
  static _Alignas(64) char in[64], out[64];
  fftw_iodim64 line = {f->length, 1, 1}, many = {f->count, f->in_step, f->out_step};
  void *to = f->in_place ? in : out;
  if (f->type == HLO_FFT_TYPE_RFFT)
    return library->dft_r2c(1, &line, 1, &many, in, to, FFTW_ESTIMATE);
  if (f->type == HLO_FFT_TYPE_IRFFT)
    return library->dft_c2r(1, &line, 1, &many, in, to, FFTW_ESTIMATE);
  return library->dft(1, &line, 1, &many, in, to,
                      f->type == HLO_FFT_TYPE_FFT ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
}

/* The cleanup is registered before the plan exists, so that no failure leaks it. */
static hr_status_t create_owned_plan(const op_native_target_t *target,
                                     const fftw_library_t *library, const fft_form_t *form,
                                     fftw_plan *out_plan) {
  owned_plan_t *owned;
  HR_TRY(HR_NEW(target->arena, &owned));
  owned->library = *library;
  HR_TRY(target->add_cleanup(target->context, destroy_owned_plan, owned));
  fftw_lock();
  owned->plan = create_plan(library, form);
  fftw_unlock();
  *out_plan = owned->plan;
  return NULL;
}

/* One plan for `count` lines at a time and one for the remainder of `total`. */
hr_status_t fft_lines_plan(const op_native_target_t *target, const fftw_library_t *library,
                           fft_form_t form, int64_t total, fft_lines_t *lines) {
  lines->count = form.count;
  if (total >= form.count) HR_TRY(create_owned_plan(target, library, &form, &lines->many));
  form.count = total % form.count;
  return form.count ? create_owned_plan(target, library, &form, &lines->rest) : NULL;
}

bool fft_lines_exist(const fft_lines_t *lines, int64_t total) {
  return (lines->many || total < lines->count) && (lines->rest || total % lines->count == 0);
}

int64_t fft_padded_length(int64_t element_bytes, int64_t length) {
  return length + PAD_BYTES / element_bytes;
}

/* Eight rows at a time, so that each cache line is used as a whole. */
#define DEFINE_TRANSPOSES(NAME, T)                                                               \
  static void NAME##_gather(const T *from, int64_t stride, int64_t length, int64_t count, T *to, \
                            int64_t to_stride) {                                                 \
    for (int64_t i = 0; i < length; i += 8)                                                      \
      for (int64_t c = 0; c < count; c++)                                                        \
        for (int64_t j = i; j < hr_min(i + 8, length); j++)                                      \
          to[c * to_stride + j] = from[j * stride + c];                                          \
  }                                                                                              \
  static void NAME##_scatter(const T *from, int64_t from_stride, int64_t length, int64_t count,  \
                             T *to, int64_t stride) {                                            \
    for (int64_t i = 0; i < length; i += 8)                                                      \
      for (int64_t j = i; j < hr_min(i + 8, length); j++)                                        \
        for (int64_t c = 0; c < count; c++) to[j * stride + c] = from[c * from_stride + j];      \
  }
typedef struct pair {
  double re, im;
} pair_t;
DEFINE_TRANSPOSES(element_8, double)
DEFINE_TRANSPOSES(element_16, pair_t)

void fft_gather(int64_t element_bytes, const void *from, int64_t stride, int64_t length,
                int64_t count, void *to, int64_t line_step) {
  if (element_bytes == 16)
    element_16_gather(from, stride, length, count, to, line_step);
  else
    element_8_gather(from, stride, length, count, to, line_step);
}

void fft_scatter(int64_t element_bytes, const void *from, int64_t line_step, int64_t length,
                 int64_t count, void *to, int64_t stride) {
  if (element_bytes == 16)
    element_16_scatter(from, line_step, length, count, to, stride);
  else
    element_8_scatter(from, line_step, length, count, to, stride);
}
