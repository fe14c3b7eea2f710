/* What the flat planner and the compiled engine know of the kernels of native_move.c. */
#ifndef HLO_OPS_NATIVE_MOVE_H
#define HLO_OPS_NATIVE_MOVE_H

#include "ops/kernels/native.h"

/* Offset in bytes of a dynamic-slice's block in its operand. `plan`: what op_natives[
 * HLO_DYNAMIC_SLICE] prepared; `in`: its operands, of which the array is not read. */
int64_t native_dynamic_slice_offset(const void *plan, void *const *in);

#endif
