/* Functions of native_move.c for the flat planner and the compiled engine, and of this folder. */
#ifndef HLO_OPS_NATIVE_MOVE_H
#define HLO_OPS_NATIVE_MOVE_H

#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/native.h"

/* Offset in bytes of a dynamic-slice's block in its operand. `plan`: the result of op_natives[
 * HLO_DYNAMIC_SLICE]'s prepare; `in`: its operands; the array is not read. */
int64_t native_dynamic_slice_offset(const void *plan, void *const *in);

/* True if the innermost loop copies contiguous rows (or repeats one element), or if the array is so
 * small that rows of any length are copied: generated code is faster elsewhere. */
bool native_moves_rows(const loop_copy_t *copy);

#endif
