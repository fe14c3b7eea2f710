/* Real transforms computed as complex ones: for odd lengths with large prime factors FFTW has much
 * faster algorithms for complex lines than for real ones; it halves even lengths itself. Two real
 * lines could share a complex one, but each would get rounding errors as large as the other's, and
 * its NaNs. */
#include "ops/kernels/fft/fft_as_complex.h"

#include "ops/kernels/simd/simd_target.h"

#define SMALL_PRIME 127 /* the largest prime factor for which real transforms are as fast */

bool fft_as_complex_pays(int64_t length) {
  if (length % 2 == 0) return false;
  for (int64_t p = 3; p <= SMALL_PRIME; p += 2)
    while (length % p == 0) length /= p;
  return length > 1;
}

NATIVE_OPTIMIZE

#define DEFINE_AS_COMPLEX(T, NAME)                                                      \
  void fft_as_complex_widen_##NAME(const T *reals, int64_t length, T *line) {           \
    for (int64_t i = 0; i < length; i++) {                                              \
      line[2 * i] = reals[i];                                                           \
      line[2 * i + 1] = 0;                                                              \
    }                                                                                   \
  }                                                                                     \
  void fft_as_complex_mirror_##NAME(const T *half, int64_t length, T *line) {           \
    for (int64_t k = 0; k <= length / 2; k++) {                                         \
      bool is_end = k == 0 || 2 * k == length;                                          \
      line[2 * k] = half[2 * k];                                                        \
      line[2 * k + 1] = is_end ? 0 : half[2 * k + 1];                                   \
      if (is_end) continue;                                                             \
      line[2 * (length - k)] = half[2 * k];                                             \
      line[2 * (length - k) + 1] = -half[2 * k + 1];                                    \
    }                                                                                   \
  }                                                                                     \
  void fft_as_complex_take_##NAME(const T *line, int64_t length, T scale, T *reals) {   \
    for (int64_t i = 0; i < length; i++) reals[i] = line[2 * i] * scale;                \
  }
DEFINE_AS_COMPLEX(float, f32)
DEFINE_AS_COMPLEX(double, f64)
