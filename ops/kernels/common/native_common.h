/* Layout of the scratch memory of native kernels. */
#ifndef HLO_OPS_NATIVE_COMMON_H
#define HLO_OPS_NATIVE_COMMON_H

#include "ops/kernels/native.h"

/* Reserves an aligned piece of scratch memory and returns its offset, in bytes. */
static inline size_t scratch_reserve(size_t *total_bytes, size_t size_bytes) {
  size_t at = *total_bytes;
  *total_bytes += (size_bytes + 63) / 64 * 64;
  return at;
}

#endif
