/* A real transform of one line as a complex one of the same length (fft_as_complex.c). */
#ifndef HLO_OPS_FFT_AS_COMPLEX_H
#define HLO_OPS_FFT_AS_COMPLEX_H

#include <stdbool.h>
#include <stdint.h>

/* True if a real transform of this length is slower than a complex one. */
bool fft_as_complex_pays(int64_t length);

/* RFFT: the complex line; its result begins with the half spectrum. */
void fft_as_complex_widen_f32(const float *reals, int64_t length, float *line);
void fft_as_complex_widen_f64(const double *reals, int64_t length, double *line);

/* IRFFT: the whole spectrum of a half spectrum, whose ends count as real; and the real parts of the
 * resulting line, times `scale`. */
void fft_as_complex_mirror_f32(const float *half, int64_t length, float *line);
void fft_as_complex_mirror_f64(const double *half, int64_t length, double *line);
void fft_as_complex_take_f32(const float *line, int64_t length, float scale, float *reals);
void fft_as_complex_take_f64(const double *line, int64_t length, double scale, double *reals);

#endif
