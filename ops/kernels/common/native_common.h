/* What native kernels share: places in scratch memory, and conversions by all workers. */
#ifndef HLO_OPS_NATIVE_COMMON_H
#define HLO_OPS_NATIVE_COMMON_H

#include "ops/kernels/gemm/matmul.h"
#include "ops/kernels/native.h"

/* Offsets of scratch memory, one piece after the other, each aligned. */
static inline size_t scratch_reserve(size_t *total_bytes, size_t size_bytes) {
  size_t at = *total_bytes;
  *total_bytes += (size_bytes + 63) / 64 * 64;
  return at;
}

/* Elements of `dtype` to the widened type of the products, and sums of that type to the result's.
 */
void native_widen(hr_workers_t *workers, const matmul_types_t *types, hr_dtype_t dtype,
                  const void *from, int64_t count, void *to);
void native_narrow(hr_workers_t *workers, const matmul_types_t *types, void *from, int64_t count,
                   void *to);

/* The elements of an operand that is a constant, else NULL. */
const void *native_constant(const hlo_instr_t *operand);

#endif
