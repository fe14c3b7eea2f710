/* Includes VECTOR_FILE for each width of vectors, with these defined for it:
 *   VECTOR_TARGET    attribute of its functions
 *   VECTOR_BYTES     of a vector
 *   VECTOR_NAME(x)   wide_x, middle_x, narrow_x: widths as in native_width()
 *   VECTOR_STREAM(to, v)  the vector past the caches, where the processor can; aligned
 * EACH_VECTOR(x) is the address of this processor's x. */
#include <string.h>

#include "ops/native_cpu.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define VECTOR_JOIN(a, b) a##b

#if NATIVE_HAS_WIDTHS
#define VECTOR_TARGET __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#define VECTOR_BYTES 64
#define VECTOR_STREAM(to, v) _mm512_stream_si512((void *)(to), (__m512i)(v))
#define VECTOR_NAME(x) VECTOR_JOIN(wide_, x)
#include VECTOR_FILE
#undef VECTOR_TARGET
#undef VECTOR_BYTES
#undef VECTOR_NAME
#undef VECTOR_STREAM

#define VECTOR_TARGET __attribute__((target("avx2")))
#define VECTOR_BYTES 32
#define VECTOR_STREAM(to, v) _mm256_stream_si256((void *)(to), (__m256i)(v))
#define VECTOR_NAME(x) VECTOR_JOIN(middle_, x)
#include VECTOR_FILE
#undef VECTOR_TARGET
#undef VECTOR_BYTES
#undef VECTOR_NAME
#undef VECTOR_STREAM
#endif

#define VECTOR_TARGET
#define VECTOR_BYTES 16
#if defined(__x86_64__)
#define VECTOR_STREAM(to, v) _mm_stream_si128((void *)(to), (__m128i)(v))
#else
#define VECTOR_STREAM(to, v) memcpy((to), &(v), VECTOR_BYTES)
#endif
#define VECTOR_NAME(x) VECTOR_JOIN(narrow_, x)
#include VECTOR_FILE
#undef VECTOR_TARGET
#undef VECTOR_BYTES
#undef VECTOR_NAME
#undef VECTOR_STREAM
#undef VECTOR_FILE

#if NATIVE_HAS_WIDTHS
#define EACH_VECTOR(x)                             \
  (native_width() == NATIVE_WIDE     ? &wide_##x   \
   : native_width() == NATIVE_MIDDLE ? &middle_##x \
                                     : &narrow_##x)
#else
#define EACH_VECTOR(x) (&narrow_##x)
#endif
