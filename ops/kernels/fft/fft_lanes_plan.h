/* What the files of fft_lanes share. */
#ifndef HLO_OPS_FFT_LANES_PLAN_H
#define HLO_OPS_FFT_LANES_PLAN_H

#include "base/arith.h"
#include "ops/kernels/fft/fft_lanes.h"

#define FFT_FACTORS_MAX 32
#define FFT_MAX_FACTOR 13 /* greater primes are left to Bluestein */

/* One pass of Stockham's method: `radix` elements, that lie ido apart, become one group. */
typedef struct fft_pass {
  int64_t radix, l1, ido;
  const void *twiddles; /* pairs: those of element j >= 1 and place i at (j - 1) * ido + i */
  const void *roots;    /* of radices without code of their own: pairs e^(2 pi i k / radix) */
} fft_pass_t;

/* A forward transform of complex numbers. */
typedef struct fft_plain {
  int64_t length;
  int pass_count;
  fft_pass_t passes[FFT_FACTORS_MAX];
} fft_plain_t;

struct fft_lanes {
  hlo_enum_FFT_TYPE_t type;
  int64_t length;              /* of the complex lines that are transformed */
  int64_t in_count, out_count; /* numbers of a line in memory, a complex one being two */
  bool is_double, is_inverse;
  double scale;
  fft_plain_t plain;  /* of the length, or of the convolution's */
  const void *halves; /* real lines: pairs e^(-2 pi i k / 2 length) */
  const void *chirp;  /* Bluestein: pairs e^(-pi i k^2 / length); else NULL */
  const void
      *spectrum; /* of the chirp that lines are convolved with, by the convolution's length */
  const struct fft_lanes_code *code;
};

/* For one type of numbers and width of vectors. */
typedef struct fft_lanes_code {
  int lanes;
  size_t vector_bytes;
  void (*rows)(const fft_lanes_t *plan, const void *from, void *to, int64_t count, void *space);
  void (*columns)(const fft_lanes_t *plan, const void *from, void *to, int64_t stride,
                  int64_t count, void *space);
} fft_lanes_code_t;

extern const fft_lanes_code_t fft_lanes_code_f32_64, fft_lanes_code_f64_64; /* AVX-512 */
extern const fft_lanes_code_t fft_lanes_code_f32_32, fft_lanes_code_f64_32; /* AVX2 and FMA */

#endif
