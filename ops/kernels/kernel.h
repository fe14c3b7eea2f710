/* The interface of kernels, and what implementations share.
 * A kernel has two halves: `prepare` runs once per instruction (per set of shapes, if they are
 * dynamic) and works out strides, loop nests, library plans; `run` follows them. Kernels see dense
 * row-major arrays; layouts do not matter but for bitcast and custom calls. They reach memory,
 * other computations, peers and feeds only through op_env_t. Thread: prepared plans are immutable
 * and shared. */
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
/* An array that a collective takes or makes: where the peers reach it, if there is such memory.
 * Undefined contents. */
hr_status_t op_shared_array(op_env_t *env, hr_dtype_t dtype, int rank, const int64_t *dims,
                            hlo_value_t **out_value);
/* Operand k as the start of the result: its own bytes where nobody else can see them any more, else
 * a copy. */
hr_status_t op_reuse_or_copy(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, int k,
                             hlo_value_t **out_value);
/* Operand k as a reference to give away (to op_env_t.call): moved out of `in` where this is its
 * last use. */
static inline hlo_value_t *op_take(const op_step_t *step, hlo_value_t *const *in, int k) {
  hlo_value_t *value = in[k];
  if (!op_is_last_use(step, k)) return hlo_value_retain(value);
  ((hlo_value_t **)in)[k] = NULL;
  return value;
}

#endif
