/* Real transforms by complex ones. For lengths with large prime factors FFTW has much quicker
 * algorithms for complex lines than for real ones. With z = a + i b and Z its spectrum
 *
 *   A[k] = (Z[k] + conj Z[n - k]) / 2       B[k] = (Z[k] - conj Z[n - k]) / 2i
 *
 * and back Z[k] = A[k] + i B[k], where A[n - k] = conj A[k]. */
#include "ops/kernels/fft/fft_pairs.h"

#include "ops/kernels/simd/simd_target.h"

#define LARGEST_DIRECT 13 /* primes for which FFTW has code of their own */

bool fft_pairs_pay(int64_t length) {
  for (int64_t p = 2; p <= LARGEST_DIRECT; p++)
    while (length % p == 0 && length > 1) length /= p;
  return length > 1;
}

NATIVE_OPTIMIZE

#define DEFINE_PAIRS(T, NAME)                                                              \
  void fft_pairs_join_##NAME(const T *a, const T *b, int64_t length, T *line) {            \
    for (int64_t i = 0; i < length; i++) {                                                 \
      line[2 * i] = a[i];                                                                  \
      line[2 * i + 1] = b ? b[i] : 0;                                                      \
    }                                                                                      \
  }                                                                                        \
  void fft_pairs_split_##NAME(const T *line, int64_t length, T *a_out, T *b_out) {         \
    for (int64_t k = 0; k <= length / 2; k++) {                                            \
      const T *z = line + 2 * k, *mirrored = line + 2 * (k ? length - k : 0);              \
      a_out[2 * k] = (z[0] + mirrored[0]) / 2;                                             \
      a_out[2 * k + 1] = (z[1] - mirrored[1]) / 2;                                         \
      if (!b_out) continue;                                                                \
      b_out[2 * k] = (z[1] + mirrored[1]) / 2;                                             \
      b_out[2 * k + 1] = (mirrored[0] - z[0]) / 2;                                         \
    }                                                                                      \
  }                                                                                        \
  void fft_pairs_spread_##NAME(const T *a, const T *b, int64_t length, T *line) {          \
    for (int64_t k = 0; k <= length / 2; k++) {                                            \
      bool is_end = k == 0 || 2 * k == length;                                             \
      T a_re = a[2 * k], a_im = is_end ? 0 : a[2 * k + 1];                                 \
      T b_re = b ? b[2 * k] : 0, b_im = b && !is_end ? b[2 * k + 1] : 0;                   \
      line[2 * k] = a_re - b_im;                                                           \
      line[2 * k + 1] = a_im + b_re;                                                       \
      if (is_end) continue;                                                                \
      line[2 * (length - k)] = a_re + b_im;                                                \
      line[2 * (length - k) + 1] = b_re - a_im;                                            \
    }                                                                                      \
  }                                                                                        \
  void fft_pairs_take_##NAME(const T *line, int64_t length, T scale, T *a_out, T *b_out) { \
    for (int64_t i = 0; i < length; i++) {                                                 \
      a_out[i] = line[2 * i] * scale;                                                      \
      if (b_out) b_out[i] = line[2 * i + 1] * scale;                                       \
    }                                                                                      \
  }
DEFINE_PAIRS(float, f32)
DEFINE_PAIRS(double, f64)
