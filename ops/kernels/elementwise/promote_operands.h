/* Operands of reductions and scatters may have narrower types than the body (StableHLO,
 * "is_promotable"): such operands are converted as a whole before the kernel proper. */
#ifndef HLO_OPS_PROMOTE_OPERANDS_H
#define HLO_OPS_PROMOTE_OPERANDS_H

#include "ops/kernels/elementwise/body.h"

typedef struct promote_plan {
  int count;
  const hr_dtype_t *dtypes;          /* types that the kernel needs */
  const ew_kernel_t *const *kernels; /* NULL: the operand already has its type */
  bool needed;                       /* true if any operand has a kernel */
} promote_plan_t;

/* Operand k is needed in the type of body parameter param_of[k]; -1: in its own type. */
hr_status_t promote_prepare(hr_arena_t *arena, const op_step_t *step, const op_body_t *body,
                            const int *param_of, promote_plan_t *plan);
/* The operands in their needed types; the list owns a reference of each, which promote_release
 * releases. */
hr_status_t promote_run(op_env_t *env, const promote_plan_t *plan, hlo_value_t *const *in,
                        hlo_value_t ***out_list);
void promote_release(const promote_plan_t *plan, hlo_value_t **list);

#endif
