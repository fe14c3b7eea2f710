/* Operands of reductions and scatters may be of narrower types than the body works on (StableHLO,
 * "is_promotable"): such operands are converted as wholes before the kernel proper sees them. */
#ifndef HLO_OPS_PROMOTE_OPERANDS_H
#define HLO_OPS_PROMOTE_OPERANDS_H

#include "ops/kernels/elementwise/body.h"

typedef struct promote_plan {
  int count;
  const hr_dtype_t *dtypes;          /* that the operands are wanted in */
  const ew_kernel_t *const *kernels; /* NULL: the operand has its type already */
  bool needed;                       /* any kernel at all */
} promote_plan_t;

/* Operand k is wanted in the type of body parameter param_of[k]; -1: as it is. */
hr_status_t promote_prepare(hr_arena_t *arena, const op_step_t *step, const op_body_t *body,
                            const int *param_of, promote_plan_t *plan);
/* The operands in their wanted types, each a reference of the list's own; give them back with
 * promote_release. */
hr_status_t promote_run(op_env_t *env, const promote_plan_t *plan, hlo_value_t *const *in,
                        hlo_value_t ***out_list);
void promote_release(const promote_plan_t *plan, hlo_value_t **list);

#endif
