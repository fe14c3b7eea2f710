/* Custom calls: functions that a program names by a string. The table is custom_calls.def; a target
 * is one row and one kernel, which is an op_kernel_t like any op's, and maybe a native one. Source:
 * JAX and XLA, as they run on CPUs. */
#ifndef HLO_OPS_CUSTOM_CALL_H
#define HLO_OPS_CUSTOM_CALL_H

#include "ops/kernels/custom/mlir_dict.h"
#include "ops/kernels/native.h"

typedef struct op_custom_call {
  const char *target; /* '?' stands for any one character; "_ffi" may follow */
  const op_kernel_t *kernel;
  const op_native_t *native; /* its prepare is NULL where there is none */
  const char *note; /* for targets that are refused or skipped: why, and what to do about it */
} op_custom_call_t;

/* NULL if there is no such target. */
const op_custom_call_t *op_custom_call_find(hr_str_t target);
static inline hr_str_t op_custom_call_target(const hlo_instr_t *instr) {
  return hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET);
}
/* Is it interpreter.run_parallel? Then its grid; 0 x 0 if it names none that its computations fill.
 */
bool op_parallel_grid(const hlo_instr_t *instr, int *out_replicas, int *out_partitions);
/* True for markers whose result is operand 0. */
bool op_custom_call_is_identity(const hlo_instr_t *instr);

/* For kernels of custom calls. */

/* Shape of result k: an element of the tuple, or the one result. NULL if there are fewer. */
const hlo_shape_t *custom_result_shape(const hlo_shape_t *out_shape, int k);
int custom_result_count(const hlo_shape_t *out_shape);
/* How the bytes of an operand, or of a result, lie for the callee: NULL is row-major. */
const hlo_layout_t *custom_operand_layout(const hlo_instr_t *instr, int k);
const hlo_layout_t *custom_result_layout(const hlo_instr_t *instr, int k);
/* backend_config as a dictionary; empty if there is none. */
hr_status_t custom_config(hr_arena_t *arena, const hlo_instr_t *instr,
                          const dict_value_t **out_dict);
/* The result value out of its `count` parts: a tuple, or part 0 itself. Releases the parts, also
 * when it fails. */
hr_status_t custom_result(const hlo_shape_t *out_shape, int count, hlo_value_t **parts,
                          hlo_value_t **out_value);
/* " (jit(f)/sin at model.py:12)" as far as metadata says, for messages; lives in the arena. */
hr_status_t custom_origin(hr_arena_t *arena, const hlo_instr_t *instr, const char **out_text);

/* How ApproxTopK orders (custom_topk.c): along which dimension, and is the greatest first? */
hr_status_t custom_approx_order(hr_arena_t *arena, const hlo_instr_t *instr, int rank,
                                int64_t *out_dim, bool *out_descends);

#endif
