/* What the kernels of fft share: plans for lines, and columns copied side by side. */
#ifndef HLO_OPS_FFT_LINES_H
#define HLO_OPS_FFT_LINES_H

#include "base/arith.h"
#include "ops/kernels/libs/fftw.h"
#include "ops/kernels/native.h"

#define FFT_COLUMNS 16 /* lines copied at once: two cache lines of every row for c64 */

/* The same transform of many lines, and of as many as are left over at the end. */
typedef struct fft_lines {
  fftw_plan many, rest;
  int64_t count; /* lines of `many` */
} fft_lines_t;

/* How the lines of a call lie. */
typedef struct fft_form {
  hlo_enum_FFT_TYPE_t type;                 /* of the lines */
  int64_t length, count, in_step, out_step; /* steps between lines, in elements of each side */
  bool in_place;
} fft_form_t;

/* Plans by estimate for `total` lines, form.count at a time; freed with the program. */
hr_status_t fft_lines_plan(const op_native_target_t *target, const fftw_library_t *library,
                           fft_form_t form, int64_t total, fft_lines_t *lines);
/* Has FFTW a plan for all of them? */
bool fft_lines_exist(const fft_lines_t *lines, int64_t total);

/* From one copied line to the next, elements: they do not share the places of one cache line. */
int64_t fft_padded_length(int64_t element_bytes, int64_t length);
/* `count` columns of rows that lie `stride` elements apart, to lines `line_step` apart, and back.
 */
void fft_gather(int64_t element_bytes, const void *from, int64_t stride, int64_t length,
                int64_t count, void *to, int64_t line_step);
void fft_scatter(int64_t element_bytes, const void *from, int64_t line_step, int64_t length,
                 int64_t count, void *to, int64_t stride);

#endif
