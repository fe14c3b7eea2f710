/* Real transforms of two lines as one complex transform (fft_pairs.c). */
#ifndef HLO_OPS_FFT_PAIRS_H
#define HLO_OPS_FFT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

/* Is a real transform of this length slower than a complex one of two lines? */
bool fft_pairs_pay(int64_t length);

/* RFFT: one complex line out of one or two real ones, and their half spectra out of its spectrum.
 * b, b_out: the second line; NULL: there is none. */
void fft_pairs_join_f32(const float *a, const float *b, int64_t length, float *line);
void fft_pairs_join_f64(const double *a, const double *b, int64_t length, double *line);
void fft_pairs_split_f32(const float *line, int64_t length, float *a_out, float *b_out);
void fft_pairs_split_f64(const double *line, int64_t length, double *a_out, double *b_out);

/* IRFFT: the spectrum of a complex line out of one or two half spectra, whose ends count as real,
 * and the real lines out of it, times `scale`. */
void fft_pairs_spread_f32(const float *a, const float *b, int64_t length, float *line);
void fft_pairs_spread_f64(const double *a, const double *b, int64_t length, double *line);
void fft_pairs_take_f32(const float *line, int64_t length, float scale, float *a_out, float *b_out);
void fft_pairs_take_f64(const double *line, int64_t length, double scale, double *a_out,
                        double *b_out);

#endif
