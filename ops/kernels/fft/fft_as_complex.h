/* Real transforms of one or two lines as a complex one of the same length (fft_as_complex.c). */
#ifndef HLO_OPS_FFT_AS_COMPLEX_H
#define HLO_OPS_FFT_AS_COMPLEX_H

#include <stdbool.h>
#include <stdint.h>

/* True if a real transform of this length is slower than a complex one. */
bool fft_as_complex_pays(int64_t length);

/* Factors of two lines that share a complex one, and their inverses. */
typedef struct fft_pair_scales {
  double scale[2], inverse[2];
} fft_pair_scales_t;

/* The functions for one real type. b, to_b: NULL for a single line. */
typedef struct fft_as_complex {
  /* Powers of two that give both lines of `count` reals about the same 2-norm. False if there are
   * none. */
  bool (*find_scales)(const void *a, const void *b, int64_t count, fft_pair_scales_t *out);
  /* RFFT: the complex line, and the half spectra from its transform. */
  void (*widen)(const void *a, const void *b, const fft_pair_scales_t *scales, int64_t length,
                void *line);
  void (*split)(const void *line, const fft_pair_scales_t *scales, int64_t length, void *to_a,
                void *to_b);
  /* IRFFT: the spectrum of the complex line, from half spectra whose first elements count as real;
   * and the parts of the resulting line. */
  void (*mirror)(const void *a, const void *b, const fft_pair_scales_t *scales, int64_t length,
                 void *line);
  void (*take)(const void *line, const fft_pair_scales_t *scales, int64_t length, void *to_a,
               void *to_b);
} fft_as_complex_t;

extern const fft_as_complex_t fft_as_complex_f32, fft_as_complex_f64;

#endif
