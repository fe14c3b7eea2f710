/* Buffers (b(f32[4]) of HLO, memref of StableHLO) as arrays. They differ from arrays only in that
 * XLA updates them in place; here they flow through the same instructions as values. */
#ifndef IR_BUFFER_TYPES_H
#define IR_BUFFER_TYPES_H

#include "ir/module.h"

/* Gives every instruction, operand layout and the entry layout the shape without buffers.
 * Errors: NO_MEMORY. */
hr_status_t hlo_lower_buffer_types(hlo_module_t *module);

#endif
