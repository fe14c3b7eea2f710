/* Conversions of operands and results of products, by all workers of a native kernel. */
#ifndef HLO_OPS_NATIVE_WIDEN_H
#define HLO_OPS_NATIVE_WIDEN_H

#include "base/workers.h"
#include "ops/kernels/gemm/matmul.h"

/* Converts elements of `dtype` to the widened type of the products, and sums of that type to the
 * result's. */
void native_widen(hr_workers_t *workers, const matmul_types_t *types, hr_dtype_t dtype,
                  const void *from, int64_t count, void *to);
void native_narrow(hr_workers_t *workers, const matmul_types_t *types, void *from, int64_t count,
                   void *to);

#endif
