/* Arrays in the layouts of a custom call. Memory is the step's scratch. Source: XLA, custom calls
 * with operand_layout_constraints: their operands and results have these layouts; others are
 * row-major. */
#ifndef HLO_OPS_CUSTOM_LAYOUT_H
#define HLO_OPS_CUSTOM_LAYOUT_H

#include "ops/kernels/custom/custom_call.h"

/* Copies between a dense row-major array and the same elements in the order of a layout; to_value:
 * from the bytes into the array. A layout that is no order of the array's dimensions, or NULL,
 * counts as row-major. */
void custom_copy_by_layout(hr_workers_t *workers, const hlo_value_t *value,
                           const hlo_layout_t *layout, void *bytes, bool to_value);

/* The array's bytes in the layout: its own bytes if that is row-major. Errors: NO_MEMORY. */
hr_status_t custom_in_layout(op_env_t *env, const hlo_layout_t *layout, const hlo_value_t *value,
                             void **out_bytes);
/* Reorders an array that was written in the order of the layout to row-major, in place. Errors:
 * NO_MEMORY. */
hr_status_t custom_from_layout(op_env_t *env, const hlo_layout_t *layout, hlo_value_t *value);

/* The shape, with layouts, of operand k, or of the result, for the callee; NULL: the call has no
 * constraints, and all arrays are row-major. */
const hlo_shape_t *custom_constrained_operand(const hlo_instr_t *instr, int k);
const hlo_shape_t *custom_constrained_result(const hlo_instr_t *instr);

#endif
