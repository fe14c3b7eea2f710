/* Includes TILES_FILE for each width of vectors and each real type, with these defined for it:
 *   SIMD_TARGET    attribute of its functions
 *   SIMD_BYTES     size of a vector
 *   SIMD_SUMS      accumulators beside operands of any tile: 16 of 32 registers, 8 of 16
 *   SIMD_REAL      float or double
 *   SIMD_NAME(x)   f32_v512_x, f64_v256_x, ...: widths as in simd_width()
 * SIMD_FOREACH_REAL_OF(f32, x) is the address of this processor's x, SIMD_FOREACH_REAL(x,
 * is_double) that of either type's. */
#include "ops/kernels/simd/simd_target.h"

#define SIMD_JOIN(a, b) a##b

#if SIMD_HAS_WIDTHS
#define SIMD_TARGET __attribute__((target(SIMD_512_MACHINE)))
#define SIMD_BYTES 64
#define SIMD_SUMS 16
#define SIMD_REAL float
#define SIMD_NAME(x) SIMD_JOIN(f32_v512_, x)
#include TILES_FILE
#undef SIMD_REAL
#undef SIMD_NAME
#define SIMD_REAL double
#define SIMD_NAME(x) SIMD_JOIN(f64_v512_, x)
#include TILES_FILE
#undef SIMD_REAL
#undef SIMD_NAME
#undef SIMD_TARGET
#undef SIMD_BYTES
#undef SIMD_SUMS

#define SIMD_TARGET __attribute__((target("avx2,fma")))
#define SIMD_BYTES 32
#define SIMD_SUMS 8
#define SIMD_REAL float
#define SIMD_NAME(x) SIMD_JOIN(f32_v256_, x)
#include TILES_FILE
#undef SIMD_REAL
#undef SIMD_NAME
#define SIMD_REAL double
#define SIMD_NAME(x) SIMD_JOIN(f64_v256_, x)
#include TILES_FILE
#undef SIMD_REAL
#undef SIMD_NAME
#undef SIMD_TARGET
#undef SIMD_BYTES
#undef SIMD_SUMS
#endif

#define SIMD_TARGET
#define SIMD_BYTES 16
#define SIMD_SUMS 8
#define SIMD_REAL float
#define SIMD_NAME(x) SIMD_JOIN(f32_v128_, x)
#include TILES_FILE
#undef SIMD_REAL
#undef SIMD_NAME
#define SIMD_REAL double
#define SIMD_NAME(x) SIMD_JOIN(f64_v128_, x)
#include TILES_FILE
#undef SIMD_REAL
#undef SIMD_NAME
#undef SIMD_TARGET
#undef SIMD_BYTES
#undef SIMD_SUMS
#undef TILES_FILE

#if SIMD_HAS_WIDTHS
#define SIMD_FOREACH_REAL_OF(real, x)            \
  (simd_width() == SIMD_512   ? &real##_v512_##x \
   : simd_width() == SIMD_256 ? &real##_v256_##x \
                              : &real##_v128_##x)
#else
#define SIMD_FOREACH_REAL_OF(real, x) (&real##_v128_##x)
#endif
#define SIMD_FOREACH_REAL(x, is_double) \
  ((is_double) ? SIMD_FOREACH_REAL_OF(f64, x) : SIMD_FOREACH_REAL_OF(f32, x))
