/* Sums and products of whole arrays for collectives, as wide as the processor's vectors: the same bits as the kernels of
 * elementwise.h, for the types that matter most. */
#ifndef HLO_OPS_FAST_SUM_H
#define HLO_OPS_FAST_SUM_H

#include "ops/op.h"

/* out[i] = a[i] op b[i]; out may be a. */
typedef void (*fast_sum_fn)(void *out, const void *a, const void *b, int64_t count);
/* NULL: there is none. */
fast_sum_fn fast_sum_of(hlo_opcode_t op, hr_dtype_t dtype);

#endif
