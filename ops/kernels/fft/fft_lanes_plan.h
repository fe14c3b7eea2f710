/* Types shared by the files of fft_lanes: passes and plans. Private to
 * ops/kernels/fft/fft_lanes*. */
#ifndef HLO_OPS_FFT_LANES_PLAN_H
#define HLO_OPS_FFT_LANES_PLAN_H

#include "base/arith.h"
#include "ops/kernels/fft/fft_lanes.h"

#define FFT_FACTORS_MAX 32
#define FFT_MAX_FACTOR 13 /* largest prime factor with special code */
#define FFT_MAX_PRIME 127 /* larger prime factors use Bluestein's algorithm */

/* One Stockham pass of `radix`. Elements are indexed i + ido (j + radix k), i < ido, j < radix,
 * k < l1; length = ido * radix * l1. */
typedef struct fft_pass {
  int64_t radix, l1, ido;
  const void *twiddles; /* pairs; that of j >= 1 and i is at (j - 1) * ido + i */
  const void *roots;    /* pairs e^(2 pi i k / radix), for odd radices from 5 on */
} fft_pass_t;

/* A forward complex transform in Stockham passes. */
typedef struct fft_plain {
  int64_t length;
  int pass_count;
  fft_pass_t passes[FFT_FACTORS_MAX];
} fft_plain_t;

struct fft_lanes {
  hlo_enum_FFT_TYPE_t type;
  int64_t length;              /* length of the complex transform: half that of even real lines */
  int64_t in_count, out_count; /* reals per line in memory; a complex number is two */
  bool is_double, is_inverse;
  double scale;
  fft_plain_t plain;    /* passes of the length, or of the convolution's length */
  const void *halves;   /* real lines of even length: pairs e^(-2 pi i k / (2 length)); else NULL */
  const void *chirp;    /* Bluestein: pairs e^(-pi i k^2 / length); else NULL */
  const void *spectrum; /* Bluestein: transformed chirp / convolution length, pairs */
  const struct fft_lanes_code *code;
};

/* The code for one real type and vector width. */
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
