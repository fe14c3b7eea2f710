/* Shared by the FFTW-based kernels: FFTW plans for batches of lines, and copies of strided columns
 * to contiguous lines. */
#ifndef HLO_OPS_FFT_LINES_H
#define HLO_OPS_FFT_LINES_H

#include "base/arith.h"
#include "ops/kernels/libs/fftw.h"
#include "ops/kernels/native.h"

#define FFT_COLUMNS 16 /* columns copied together: two cache lines per row for c64 */

/* FFTW plans for a batch of `count` lines, and for a smaller remainder. */
typedef struct fft_lines {
  fftw_plan many, rest;
  int64_t count; /* lines per execution of `many` */
} fft_lines_t;

/* Type and memory layout of a batch of lines. */
typedef struct fft_form {
  hlo_enum_FFT_TYPE_t type;                 /* kind of the transform */
  int64_t length, count, in_step, out_step; /* line strides, in elements of each side */
  bool in_place;
} fft_form_t;

/* Plans `total` lines, form.count at a time, with FFTW_ESTIMATE. The plans are destroyed with
 * the program. */
hr_status_t fft_lines_plan(const op_native_target_t *target, const fftw_library_t *library,
                           fft_form_t form, int64_t total, fft_lines_t *lines);
/* True if FFTW has a plan for all of them. */
bool fft_lines_exist(const fft_lines_t *lines, int64_t total);

/* Stride of copied lines in elements: padded so that lines do not map to the same cache sets. */
int64_t fft_padded_length(int64_t element_bytes, int64_t length);
/* Copies `count` columns of rows `stride` elements apart to lines `line_step` apart, and back. */
void fft_gather(int64_t element_bytes, const void *from, int64_t stride, int64_t length,
                int64_t count, void *to, int64_t line_step);
void fft_scatter(int64_t element_bytes, const void *from, int64_t line_step, int64_t length,
                 int64_t count, void *to, int64_t stride);

#endif
