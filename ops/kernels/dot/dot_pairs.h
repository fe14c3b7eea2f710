/* Integers whose products are added by pairs (VPMADDWD): dot_pairs.c and dot_pairs_blocked.c. */
#ifndef HLO_OPS_DOT_PAIRS_H
#define HLO_OPS_DOT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "ops/kernels/simd/simd_target.h"
#if SIMD_HAS_WIDTHS
#include <immintrin.h>
#endif

/* True for integers that 16 signed bits hold. */
static inline bool dot_fits_16_bits(hr_dtype_t type) {
  return type == HR_S8 || type == HR_U8 || type == HR_S16;
}

/* Element `at` of an array of such integers. */
static inline int16_t dot_pair_element(hr_dtype_t type, const char *from, int64_t at) {
  if (type == HR_S8) return ((const int8_t *)from)[at];
  if (type == HR_U8) return ((const uint8_t *)from)[at];
  return ((const int16_t *)from)[at];
}

#if SIMD_HAS_WIDTHS
/* Sixteen adjacent elements, widened to 16 bits, with AVX2. */
__attribute__((target("avx2"), always_inline)) static inline __m256i dot_pair_elements(
    hr_dtype_t type, const char *from) {
  if (type == HR_S8) return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)from));
  if (type == HR_U8) return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)from));
  return _mm256_loadu_si256((const __m256i *)from);
}
#endif

/* Pairs of `terms` terms; the last one may have a single term. */
static inline int64_t dot_pair_count(int64_t terms) { return (terms + 1) / 2; }

#endif
