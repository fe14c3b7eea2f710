/* Reductions of whole arrays for collectives, with vectors as wide as the processor's: the same
 * bits as the kernels of elementwise.h, for the most frequent types. */
#ifndef HLO_OPS_REDUCE_LOCAL_H
#define HLO_OPS_REDUCE_LOCAL_H

#include "ops/kernels/kernel.h"

/* out[i] = (in[0][i] op in[1][i]) op in[2][i] ... of `arrays` arrays, at least two; out may be
 * in[0]. Several arrays are read side by side, and the results are written once. */
typedef void (*reduce_local_fn)(void *out, const void *const *in, int arrays, int64_t count);
/* The loop for an op and type; NULL if there is none. */
reduce_local_fn reduce_local_of(hlo_opcode_t op, hr_dtype_t dtype);

#endif
