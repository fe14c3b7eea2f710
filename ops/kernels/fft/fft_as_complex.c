/* Real transforms computed as complex ones: for odd lengths with large prime factors FFTW has much
 * faster algorithms for complex lines than for real ones; it halves even lengths itself. Two
 * real lines share a complex one, one in its real and one in its imaginary parts. Both are first
 * multiplied by powers of two that give them the same 2-norm, because both get rounding errors as
 * large as those of the larger one; where there are none, as for lines with a NaN or an infinity,
 * each is a complex line of its own. */
#include "ops/kernels/fft/fft_as_complex.h"

#include <math.h>

#include "ops/kernels/simd/simd_target.h"

#define SMALL_PRIME 127 /* the largest prime factor for which real transforms are as fast */

bool fft_as_complex_pays(int64_t length) {
  if (length % 2 == 0) return false;
  for (int64_t p = 3; p <= SMALL_PRIME; p += 2)
    while (length % p == 0) length /= p;
  return length > 1;
}

NATIVE_OPTIMIZE

#define LEAST_SQUARES(T) (sizeof(T) == 4 ? 1e-30 : 1e-280)

static bool find_scale(double square, double least, int line, fft_pair_scales_t *out) {
  int exponent;
  if (!(square > least && square < 1 / least)) return false;
  frexp(square, &exponent);
  out->scale[line] = ldexp(1, -exponent / 2);
  out->inverse[line] = ldexp(1, exponent / 2);
  return true;
}

/* `half`: a pair's two spectra are the even and odd parts of one; halves are added, not sums
 * halved, as these might overflow. */
#define DEFINE_AS_COMPLEX(T, NAME)                                                                \
  static double squares_##NAME(const T *line, int64_t count) {                                    \
    T sums[16] = {0}, sum = 0;                                                                    \
    int64_t whole = count / 16 * 16;                                                              \
    for (int64_t i = 0; i < whole; i += 16)                                                       \
      for (int64_t j = 0; j < 16; j++) sums[j] += line[i + j] * line[i + j];                      \
    for (int64_t i = whole; i < count; i++) sum += line[i] * line[i];                             \
    for (int64_t j = 0; j < 16; j++) sum += sums[j];                                              \
    return (double)sum;                                                                           \
  }                                                                                               \
                                                                                                  \
  static bool find_scales_##NAME(const void *a, const void *b, int64_t count,                     \
                                 fft_pair_scales_t *out) {                                        \
    return find_scale(squares_##NAME(a, count), LEAST_SQUARES(T), 0, out) &&                      \
           find_scale(squares_##NAME(b, count), LEAST_SQUARES(T), 1, out);                        \
  }                                                                                               \
                                                                                                  \
  static void widen_##NAME(const void *a_, const void *b_, const fft_pair_scales_t *scales,       \
                           int64_t length, void *line_) {                                         \
    T scale[2] = {(T)scales->scale[0], (T)scales->scale[1]}, *line = line_;                       \
    const T *a = a_, *b = b_;                                                                     \
    for (int64_t i = 0; i < length; i++) {                                                        \
      line[2 * i] = a[i] * scale[0];                                                              \
      line[2 * i + 1] = b ? b[i] * scale[1] : 0;                                                  \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  static void split_##NAME(const void *line_, const fft_pair_scales_t *scales, int64_t length,    \
                           void *to_a, void *to_b) {                                              \
    T half[2] = {(T)scales->inverse[0] / 2, (T)scales->inverse[1] / 2}, *a = to_a, *b = to_b;     \
    const T *line = line_;                                                                        \
    for (int64_t k = 0; k <= length / 2; k++) {                                                   \
      const T *z = line + 2 * k, *other = line + 2 * (k ? length - k : 0);                        \
      a[2 * k] = z[0] * half[0] + other[0] * half[0];                                             \
      a[2 * k + 1] = z[1] * half[0] - other[1] * half[0];                                         \
      if (!b) continue;                                                                           \
      b[2 * k] = z[1] * half[1] + other[1] * half[1];                                             \
      b[2 * k + 1] = other[0] * half[1] - z[0] * half[1];                                         \
    }                                                                                             \
    a[1] = 0;                                                                                     \
    if (b) b[1] = 0;                                                                              \
  }                                                                                               \
                                                                                                  \
  static void mirror_##NAME(const void *a_, const void *b_, const fft_pair_scales_t *scales,      \
                            int64_t length, void *line_) {                                        \
    T scale[2] = {(T)scales->scale[0], (T)scales->scale[1]}, *line = line_;                       \
    const T *a = a_, *b = b_;                                                                     \
    for (int64_t k = 0; k <= length / 2; k++) {                                                   \
      T re = a[2 * k] * scale[0], im = k ? a[2 * k + 1] * scale[0] : 0;                           \
      T b_re = b ? b[2 * k] * scale[1] : 0;                                                       \
      T b_im = b && k ? b[2 * k + 1] * scale[1] : 0;                                              \
      line[2 * k] = re - b_im;                                                                    \
      line[2 * k + 1] = im + b_re;                                                                \
      if (!k) continue;                                                                           \
      line[2 * (length - k)] = re + b_im;                                                         \
      line[2 * (length - k) + 1] = b_re - im;                                                     \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  static void take_##NAME(const void *line_, const fft_pair_scales_t *scales, int64_t length,     \
                          void *to_a, void *to_b) {                                               \
    T inverse[2] = {(T)scales->inverse[0], (T)scales->inverse[1]}, *a = to_a, *b = to_b;          \
    const T *line = line_;                                                                        \
    for (int64_t i = 0; i < length; i++) a[i] = line[2 * i] * inverse[0];                         \
    for (int64_t i = 0; i < length && b; i++) b[i] = line[2 * i + 1] * inverse[1];                \
  }                                                                                               \
                                                                                                  \
  const fft_as_complex_t fft_as_complex_##NAME = {find_scales_##NAME, widen_##NAME, split_##NAME, \
                                                  mirror_##NAME, take_##NAME};
DEFINE_AS_COMPLEX(float, f32)
DEFINE_AS_COMPLEX(double, f64)
