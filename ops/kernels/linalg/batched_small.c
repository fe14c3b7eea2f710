/* Selection of the batched loops, and the range check that replaces rescaling. The loops themselves
 * are batched_small_tiles.h, compiled for each vector width. Contraction to fused multiply-adds is
 * enabled here: it is faster and at least as accurate. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("O3", "fp-contract=fast", "no-math-errno", "no-trapping-math")
#endif
#include "ops/kernels/linalg/batched_small.h"

#define TILES_FILE "ops/kernels/linalg/batched_small_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

const batched_small_loops_t *batched_small_find(hr_dtype_t dtype, int64_t batch, int64_t m,
                                                int64_t n) {
  hr_dtype_t real = hr_dtype_real(dtype);
  if ((real != HR_F32 && real != HR_F64) || m > BATCHED_SMALL_SIZE || n > BATCHED_SMALL_SIZE)
    return NULL;
  const batched_small_loops_t *loops =
      *SIMD_FOREACH_REAL(loops, real == HR_F64) + hr_dtype_is_complex(dtype);
  int64_t worth =
      m * n <= BATCHED_TINY_ELEMENTS ? 4 : 2; /* fewest matrices: 1 / worth of the lanes */
  return worth * batch >= loops->lanes ? loops : NULL;
}

/* False if any element is NaN or infinite. All-zero matrices are accepted. */
#define DEFINE_IN_RANGE(T, LOW, HIGH)                               \
  static bool in_range_##T(const T *x, int64_t count) {             \
    T most = 0, none = 0;                                           \
    for (int64_t i = 0; i < count; i++) {                           \
      T size = x[i] < 0 ? -x[i] : x[i];                             \
      most = size > most ? size : most;                             \
      none += x[i] - x[i];                                          \
    }                                                               \
    return none == 0 && most <= HIGH && (most >= LOW || most == 0); \
  }
DEFINE_IN_RANGE(float, 1e-6F, 1e15F)
DEFINE_IN_RANGE(double, 1e-90, 1e130)

bool batched_small_in_range(hr_dtype_t dtype, const void *data, int64_t elements, int64_t count) {
  hr_dtype_t real = hr_dtype_real(dtype);
  if (hr_dtype_is_complex(dtype)) elements *= 2;
  for (int64_t i = 0; i < count; i++) {
    const char *matrix = (const char *)data + i * elements * (int64_t)hr_dtype_bytes(real);
    if (!(real == HR_F32 ? in_range_float((const void *)matrix, elements)
                         : in_range_double((const void *)matrix, elements)))
      return false;
  }
  return true;
}
