/* The interface of kernels, and helpers for their implementation. A kernel has two halves:
 * `prepare` runs once per instruction (per set of shapes, if they are dynamic) and works out
 * strides, loop nests, library plans; `run` follows them. Kernels see dense row-major arrays;
 * layouts matter only to bitcast and custom calls. They reach memory, other computations, peers and
 * feeds only through op_env_t. Thread: prepared plans are immutable and shared. */
#ifndef HLO_OPS_KERNEL_H
#define HLO_OPS_KERNEL_H

#include "ops/kernels/env.h"
#include "ops/query/op_step.h"

typedef struct op_kernel {
  /* Works out step->plan (allocated in arena) from instr and the shapes. May be NULL. */
  hr_status_t (*prepare)(hr_arena_t *arena, const op_step_t *step, const void **out_plan);
  /* Computes the result; *out_value is a new reference. `in` is borrowed. */
  hr_status_t (*run)(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                     hlo_value_t **out_value);
} op_kernel_t;

extern const op_kernel_t *const op_kernels[HLO_OPCODE_COUNT]; /* from ops.def */

/* Result arrays. op_output: shape step->out_shape (an array), undefined contents. */
hr_status_t op_output(op_env_t *env, const op_step_t *step, hlo_value_t **out_value);
/* An array that a collective reads or writes, in memory that peers can access if there is any.
 * Undefined contents. */
hr_status_t op_shared_array(op_env_t *env, hr_dtype_t dtype, int rank, const int64_t *dims,
                            hlo_value_t **out_value);
/* Operand k as the initial contents of the result: its own buffer if it has no other user, else a
 * copy. */
hr_status_t op_reuse_or_copy(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, int k,
                             hlo_value_t **out_value);
/* Operand k as a reference to give away (to op_env_t.call): moved out of `in` if this is its last
 * use. */
static inline hlo_value_t *op_take(const op_step_t *step, hlo_value_t *const *in, int k) {
  hlo_value_t *value = in[k];
  if (!op_is_last_use(step, k)) return hlo_value_retain(value);
  ((hlo_value_t **)in)[k] = NULL;
  return value;
}

#endif
