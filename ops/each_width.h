/* Includes TILES_FILE for each width of vectors and each real type, with these defined for it:
 *   TILES_TARGET    attribute of its functions
 *   TILES_BYTES     of a vector
 *   TILES_SUMS      vectors of sums that there are registers for
 *   TILES_REAL      float or double
 *   TILES_NAME(x)   f32_wide_x, f64_middle_x, ...: widths as in native_width()
 * EACH_WIDTH_OF(f32, x) is the address of this processor's x, EACH_WIDTH(x, is_double) that of either type's. */
#include "ops/native_cpu.h"

#define TILES_JOIN(a, b) a##b

#if NATIVE_HAS_WIDTHS
#define TILES_TARGET __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#define TILES_BYTES 64
#define TILES_SUMS 16
#define TILES_REAL float
#define TILES_NAME(x) TILES_JOIN(f32_wide_, x)
#include TILES_FILE
#undef TILES_REAL
#undef TILES_NAME
#define TILES_REAL double
#define TILES_NAME(x) TILES_JOIN(f64_wide_, x)
#include TILES_FILE
#undef TILES_REAL
#undef TILES_NAME
#undef TILES_TARGET
#undef TILES_BYTES
#undef TILES_SUMS

#define TILES_TARGET __attribute__((target("avx2,fma")))
#define TILES_BYTES 32
#define TILES_SUMS 8
#define TILES_REAL float
#define TILES_NAME(x) TILES_JOIN(f32_middle_, x)
#include TILES_FILE
#undef TILES_REAL
#undef TILES_NAME
#define TILES_REAL double
#define TILES_NAME(x) TILES_JOIN(f64_middle_, x)
#include TILES_FILE
#undef TILES_REAL
#undef TILES_NAME
#undef TILES_TARGET
#undef TILES_BYTES
#undef TILES_SUMS
#endif

#define TILES_TARGET
#define TILES_BYTES 16
#define TILES_SUMS 8
#define TILES_REAL float
#define TILES_NAME(x) TILES_JOIN(f32_narrow_, x)
#include TILES_FILE
#undef TILES_REAL
#undef TILES_NAME
#define TILES_REAL double
#define TILES_NAME(x) TILES_JOIN(f64_narrow_, x)
#include TILES_FILE
#undef TILES_REAL
#undef TILES_NAME
#undef TILES_TARGET
#undef TILES_BYTES
#undef TILES_SUMS
#undef TILES_FILE

#if NATIVE_HAS_WIDTHS
#define EACH_WIDTH_OF(real, x)                          \
  (native_width() == NATIVE_WIDE     ? &real##_wide_##x   \
   : native_width() == NATIVE_MIDDLE ? &real##_middle_##x \
                                     : &real##_narrow_##x)
#else
#define EACH_WIDTH_OF(real, x) (&real##_narrow_##x)
#endif
#define EACH_WIDTH(x, is_double) ((is_double) ? EACH_WIDTH_OF(f64, x) : EACH_WIDTH_OF(f32, x))
