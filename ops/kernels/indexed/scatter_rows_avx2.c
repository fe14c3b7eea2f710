/* The loops of scatter_rows.h with AVX2: rows in vectors of 32, 16 and 8 bytes, then element by
 * element. Stores have the sizes of the loads of a later row, which are then forwarded. */
#include "ops/kernels/indexed/scatter_rows.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

#include "ops/kernels/indexed/scatter_rows_loops.h"

#if SIMD_HAS_WIDTHS
#include <immintrin.h>

#define AVX2_TARGET __attribute__((target("avx2,f16c")))

#define LOAD_32(from) _mm256_loadu_si256((const __m256i *)(from))
#define LOAD_16(from) _mm_loadu_si128((const __m128i *)(from))
#define LOAD_8(from) _mm_loadl_epi64((const __m128i *)(from))
#define STORE_32(to, x) _mm256_storeu_si256((__m256i *)(to), (__m256i)(x))
#define STORE_16(to, x) _mm_storeu_si128((__m128i *)(to), (__m128i)(x))
#define STORE_8(to, x) _mm_storel_epi64((__m128i *)(to), (__m128i)(x))

/* COMBINED: a function of two vectors V. */
#define COMBINE_PART(T, V, BYTES, COMBINED)                          \
  {                                                                  \
    V a = (V)LOAD_##BYTES(row + j), b = (V)LOAD_##BYTES(values + j); \
    STORE_##BYTES(row + j, COMBINED(a, b));                          \
    j += BYTES / (int64_t)sizeof(T);                                 \
  }

/* COMBINED_32 and COMBINED_16 combine vectors V and HALF of 32 and 16 bytes. */
#define DEFINE_AVX2(NAME, T, V, HALF, SCALAR, COMBINED_32, COMBINED_16)                      \
  DEFINE_ONE(avx2_##NAME, T, SCALAR, AVX2_TARGET)                                            \
  AVX2_TARGET NATIVE_INLINE void avx2_##NAME##_row(T *row, const T *values, int64_t count) { \
    enum { WHOLE = 32 / sizeof(T) };                                                         \
    int64_t j = 0;                                                                           \
    while (j + WHOLE <= count) COMBINE_PART(T, V, 32, COMBINED_32)                           \
    if (j + WHOLE / 2 <= count) COMBINE_PART(T, HALF, 16, COMBINED_16)                       \
    if (WHOLE == 8 && j + WHOLE / 4 <= count) COMBINE_PART(T, HALF, 8, COMBINED_16)          \
    if (j < count) row[j] = avx2_##NAME##_alone(row[j], values[j]);                          \
  }                                                                                          \
  DEFINE_FORMS(avx2_##NAME, T, AVX2_TARGET)

/* --- floats ----------------------------------------------------------------------------------- */

/* vmaxps gives the second of equal operands and of those with a NaN. Both orders together: the bits
 * of +0 for zeros of both signs, and a sum for NaNs. */
#define DEFINE_EXTREME(NAME, V, mm, t, EXTREME, JOIN)                                   \
  AVX2_TARGET NATIVE_INLINE V NAME(V a, V b) {                                          \
    V both = mm##_##JOIN##_##t(mm##_##EXTREME##_##t(a, b), mm##_##EXTREME##_##t(b, a)); \
    return mm##_blendv_##t(both, a + b, mm##_CMP_UNORDERED_##t(a, b));                  \
  }
#define _mm256_CMP_UNORDERED_ps(a, b) _mm256_cmp_ps(a, b, _CMP_UNORD_Q)
#define _mm256_CMP_UNORDERED_pd(a, b) _mm256_cmp_pd(a, b, _CMP_UNORD_Q)
#define _mm_CMP_UNORDERED_ps(a, b) _mm_cmpunord_ps(a, b)
#define _mm_CMP_UNORDERED_pd(a, b) _mm_cmpunord_pd(a, b)
#define DEFINE_AVX2_FLOATS(p, T, V, HALF, t)                                    \
  DEFINE_EXTREME(p##_most_32, V, _mm256, t, max, and)                           \
  DEFINE_EXTREME(p##_most_16, HALF, _mm, t, max, and)                           \
  DEFINE_EXTREME(p##_least_32, V, _mm256, t, min, or)                           \
  DEFINE_EXTREME(p##_least_16, HALF, _mm, t, min, or)                           \
  DEFINE_AVX2(p##_add, T, V, HALF, a + b, SUM, SUM)                             \
  DEFINE_AVX2(p##_multiply, T, V, HALF, a *b, PRODUCT, PRODUCT)                 \
  DEFINE_AVX2(p##_maximum, T, V, HALF, FLOAT_MOST(p), p##_most_32, p##_most_16) \
  DEFINE_AVX2(p##_minimum, T, V, HALF, FLOAT_LEAST(p), p##_least_32, p##_least_16)
DEFINE_AVX2_FLOATS(f32, float, __m256, __m128, ps)
DEFINE_AVX2_FLOATS(f64, double, __m256d, __m128d, pd)

/* --- integers --------------------------------------------------------------------------------- */

/* The first of two elements where the relation holds between them, as numbers of S. */
#define DEFINE_CHOICE(NAME, V, S, RELATION)    \
  AVX2_TARGET NATIVE_INLINE V NAME(V a, V b) { \
    V is_first = (V)((S)a RELATION(S) b);      \
    return (a & is_first) | (b & ~is_first);   \
  }
#define DEFINE_AVX2_INTEGERS(p, T, S)                                                            \
  typedef T p##_32_t __attribute__((vector_size(32)));                                           \
  typedef T p##_16_t __attribute__((vector_size(16)));                                           \
  typedef S p##_order_32_t __attribute__((vector_size(32)));                                     \
  typedef S p##_order_16_t __attribute__((vector_size(16)));                                     \
  DEFINE_CHOICE(p##_most_32, p##_32_t, p##_order_32_t, >)                                        \
  DEFINE_CHOICE(p##_most_16, p##_16_t, p##_order_16_t, >)                                        \
  DEFINE_CHOICE(p##_least_32, p##_32_t, p##_order_32_t, <)                                       \
  DEFINE_CHOICE(p##_least_16, p##_16_t, p##_order_16_t, <)                                       \
  DEFINE_AVX2(p##_add, T, p##_32_t, p##_16_t, a + b, SUM, SUM)                                   \
  DEFINE_AVX2(p##_maximum, T, p##_32_t, p##_16_t, (S)a > (S)b ? a : b, p##_most_32, p##_most_16) \
  DEFINE_AVX2(p##_minimum, T, p##_32_t, p##_16_t, (S)a < (S)b ? a : b, p##_least_32, p##_least_16)
DEFINE_AVX2_INTEGERS(s32, uint32_t, int32_t)
DEFINE_AVX2_INTEGERS(s64, uint64_t, int64_t)

/* --- floats of 16 bits ------------------------------------------------------------------------ */

AVX2_TARGET NATIVE_INLINE float avx2_f16_to_f32(uint16_t bits) { return _cvtsh_ss(bits); }
AVX2_TARGET NATIVE_INLINE uint16_t avx2_f16_from_f32(float value) {
  return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
}
#define avx2_bf16_to_f32 hr_bf16_to_f32
#define avx2_bf16_from_f32 hr_f32_to_bf16

AVX2_TARGET NATIVE_INLINE __m256 widened_f16(const uint16_t *from) {
  return _mm256_cvtph_ps(LOAD_16(from));
}
AVX2_TARGET NATIVE_INLINE void store_f16(uint16_t *to, __m256 x) {
  STORE_16(to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
AVX2_TARGET NATIVE_INLINE __m256 widened_bf16(const uint16_t *from) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(LOAD_16(from)), 16));
}
/* Rounds to nearest even like hr_f32_to_bf16; NaNs become quiet NaNs of the same sign. */
AVX2_TARGET NATIVE_INLINE void store_bf16(uint16_t *to, __m256 x) {
  typedef uint32_t bits_t __attribute__((vector_size(32)));
  bits_t bits = (bits_t)x, high = bits >> 16, rounded = (bits + 0x7fff + (high & 1)) >> 16;
  bits_t is_nan = (bits_t)_mm256_cmp_ps(x, x, _CMP_UNORD_Q), quiet = (high & 0x8000) | 0x7fc0;
  __m256i all = (__m256i)((rounded & ~is_nan) | (quiet & is_nan));
  STORE_16(to, _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
}

/* Eight elements at once, as f32. FORMS: DEFINE_FORMS, or DEFINE_LISTED for ops that are rare. */
#define DEFINE_AVX2_HALF(FORMS, p, OP, VALUE, COMBINED)                                       \
  DEFINE_ONE(avx2_##p##_##OP, uint16_t, AS_F32(avx2_##p, VALUE), AVX2_TARGET)                 \
  AVX2_TARGET NATIVE_INLINE void avx2_##p##_##OP##_row(uint16_t *row, const uint16_t *values, \
                                                       int64_t count) {                       \
    int64_t j = 0;                                                                            \
    for (; j + 8 <= count; j += 8)                                                            \
      store_##p(row + j, COMBINED(widened_##p(row + j), widened_##p(values + j)));            \
    for (; j < count; j++) row[j] = avx2_##p##_##OP##_alone(row[j], values[j]);               \
  }                                                                                           \
  FORMS(avx2_##p##_##OP, uint16_t, AVX2_TARGET)
#define DEFINE_AVX2_HALVES(p)                                           \
  DEFINE_AVX2_HALF(DEFINE_FORMS, p, add, SUM, SUM)                      \
  DEFINE_AVX2_HALF(DEFINE_LISTED, p, multiply, PRODUCT, PRODUCT)        \
  DEFINE_AVX2_HALF(DEFINE_LISTED, p, maximum, f32_maximum, f32_most_32) \
  DEFINE_AVX2_HALF(DEFINE_LISTED, p, minimum, f32_minimum, f32_least_32)
DEFINE_AVX2_HALVES(f16)
DEFINE_AVX2_HALVES(bf16)

/* Sums of complex numbers are sums of their parts. */
#define DEFINE_AVX2_COMPLEX(NAME, T, REAL, p)                                                \
  DEFINE_ONE(avx2_##NAME, T, a + b, AVX2_TARGET)                                             \
  AVX2_TARGET NATIVE_INLINE void avx2_##NAME##_row(T *row, const T *values, int64_t count) { \
    avx2_##p##_add_row((REAL *)row, (const REAL *)values, 2 * count);                        \
  }                                                                                          \
  DEFINE_FORMS(avx2_##NAME, T, AVX2_TARGET)
DEFINE_AVX2_COMPLEX(c64_add, float _Complex, float, f32)

#define INTEGERS_OF(NAME) \
  { LOOPS_OF(NAME##_add), {0}, LOOPS_OF(NAME##_maximum), LOOPS_OF(NAME##_minimum) }
const scatter_loops_t scatter_loops_256[HR_DTYPE_COUNT][NUMBER_OPS] = {
    [HR_F32] = NUMBERS_OF(LOOPS_OF, avx2_f32),
    [HR_F64] = NUMBERS_OF(LOOPS_OF, avx2_f64),
    [HR_S32] = INTEGERS_OF(avx2_s32),
    [HR_S64] = INTEGERS_OF(avx2_s64),
    [HR_F16] = HALVES_OF(avx2_f16),
    [HR_BF16] = HALVES_OF(avx2_bf16),
    [HR_C64] = {LOOPS_OF(avx2_c64_add)}};
#endif
