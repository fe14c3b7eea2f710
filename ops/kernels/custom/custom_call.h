/* Declarations shared by the kernels of custom calls: layouts and results of the callee. A target
 * is a row of ops/query/custom_calls.def and a kernel custom_<name>, which is an op_kernel_t like
 * any op's; some have a native kernel, native_custom_<name>. Source: JAX and XLA on CPUs. */
#ifndef HLO_OPS_CUSTOM_CALL_H
#define HLO_OPS_CUSTOM_CALL_H

#include "ops/kernels/native.h"
#include "ops/query/custom_call_table.h"

/* Shape of result k: an element of the tuple, or the only result. NULL if there are fewer. */
const hlo_shape_t *custom_result_shape(const hlo_shape_t *out_shape, int k);
int custom_result_count(const hlo_shape_t *out_shape);
/* The layout of an operand, or of a result, for the callee; NULL is row-major. */
const hlo_layout_t *custom_operand_layout(const hlo_instr_t *instr, int k);
const hlo_layout_t *custom_result_layout(const hlo_instr_t *instr, int k);
/* The result value made of its `count` parts: a tuple, or part 0 itself. Releases the parts, also
 * when it fails. */
hr_status_t custom_result(const hlo_shape_t *out_shape, int count, hlo_value_t **parts,
                          hlo_value_t **out_value);
/* " (jit(f)/sin at model.py:12)" from the metadata, for messages; lives in the arena. */
hr_status_t custom_origin(hr_arena_t *arena, const hlo_instr_t *instr, const char **out_text);

#endif
