/* Integers whose products are added by pairs (VPMADDWD): dot_pairs.c and dot_pairs_blocked.c. */
#ifndef HLO_OPS_DOT_PAIRS_H
#define HLO_OPS_DOT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"

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

/* Pairs of `terms` terms; the last one may have a single term. */
static inline int64_t dot_pair_count(int64_t terms) { return (terms + 1) / 2; }

#endif
