/* Functions of native_move.c for the flat planner and the compiled engine. */
#ifndef HLO_OPS_NATIVE_MOVE_H
#define HLO_OPS_NATIVE_MOVE_H

#include "ops/kernels/native.h"

/* Offset in bytes of a dynamic-slice's block in its operand. `plan`: the result of op_natives[
 * HLO_DYNAMIC_SLICE]'s prepare; `in`: its operands; the array is not read. */
int64_t native_dynamic_slice_offset(const void *plan, void *const *in);

#endif
