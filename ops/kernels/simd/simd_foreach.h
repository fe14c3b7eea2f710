/* Includes VECTOR_FILE for each width of vectors, with these defined for it:
 *   SIMD_VECTOR_TARGET    attribute of its functions
 *   SIMD_VECTOR_BYTES     size of a vector
 *   SIMD_VECTOR_NAME(x)   v512_x, v256_x, v128_x: widths as in simd_width()
 *   SIMD_VECTOR_STREAM(to, v)  non-temporal store if the processor has one; aligned
 * SIMD_FOREACH(x) is the address of this processor's x. */
#include <string.h>

#include "ops/kernels/simd/simd_target.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SIMD_VECTOR_JOIN(a, b) a##b

#if SIMD_HAS_WIDTHS
#define SIMD_VECTOR_TARGET __attribute__((target(SIMD_512_MACHINE)))
#define SIMD_VECTOR_BYTES 64
#define SIMD_VECTOR_STREAM(to, v) _mm512_stream_si512((void *)(to), (__m512i)(v))
#define SIMD_VECTOR_NAME(x) SIMD_VECTOR_JOIN(v512_, x)
#include VECTOR_FILE
#undef SIMD_VECTOR_TARGET
#undef SIMD_VECTOR_BYTES
#undef SIMD_VECTOR_NAME
#undef SIMD_VECTOR_STREAM

#define SIMD_VECTOR_TARGET __attribute__((target("avx2,fma")))
#define SIMD_VECTOR_BYTES 32
#define SIMD_VECTOR_STREAM(to, v) _mm256_stream_si256((void *)(to), (__m256i)(v))
#define SIMD_VECTOR_NAME(x) SIMD_VECTOR_JOIN(v256_, x)
#include VECTOR_FILE
#undef SIMD_VECTOR_TARGET
#undef SIMD_VECTOR_BYTES
#undef SIMD_VECTOR_NAME
#undef SIMD_VECTOR_STREAM
#endif

#define SIMD_VECTOR_TARGET
#define SIMD_VECTOR_BYTES 16
#if defined(__x86_64__)
#define SIMD_VECTOR_STREAM(to, v) _mm_stream_si128((void *)(to), (__m128i)(v))
#else
#define SIMD_VECTOR_STREAM(to, v) memcpy((to), &(v), SIMD_VECTOR_BYTES)
#endif
#define SIMD_VECTOR_NAME(x) SIMD_VECTOR_JOIN(v128_, x)
#include VECTOR_FILE
#undef SIMD_VECTOR_TARGET
#undef SIMD_VECTOR_BYTES
#undef SIMD_VECTOR_NAME
#undef SIMD_VECTOR_STREAM
#undef VECTOR_FILE

#if SIMD_HAS_WIDTHS
#define SIMD_FOREACH(x) \
  (simd_width() == SIMD_512 ? &v512_##x : simd_width() == SIMD_256 ? &v256_##x : &v128_##x)
#else
#define SIMD_FOREACH(x) (&v128_##x)
#endif
