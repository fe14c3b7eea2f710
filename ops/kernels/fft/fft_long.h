/* Complex transforms of lines that exceed the caches, each line by all workers. */
#ifndef HLO_OPS_FFT_LONG_H
#define HLO_OPS_FFT_LONG_H

#include "ops/kernels/libs/fftw.h"
#include "ops/kernels/native.h"

typedef struct fft_long fft_long_t;

/* FFT or IFFT of `line_count` contiguous lines, multiplied by `scale`. */
typedef struct fft_line_kind {
  hlo_enum_FFT_TYPE_t type;
  int64_t length, line_count, element_bytes;
  double scale;
} fft_line_kind_t;

/* *out_plan stays NULL if the length is short, or has no two factors of similar size. */
hr_status_t fft_long_plan(const op_native_target_t *target, const fftw_library_t *library,
                          const fft_line_kind_t *kind, size_t *out_scratch_bytes,
                          const fft_long_t **out_plan);
void fft_long_run(const fft_long_t *plan, hr_workers_t *workers, void *scratch, const void *in,
                  void *out);

#endif
