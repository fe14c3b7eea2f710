/* Ops whose sizes are operands: once the operands are known, such an op is a static op with other
 * attributes, and runs as that op. */
#ifndef HLO_OPS_LOWER_DYNAMIC_H
#define HLO_OPS_LOWER_DYNAMIC_H

#include "ops/kernels/kernel.h"

/* The static form of a step: the op, the number of operands it reads, and its attributes. */
typedef struct op_lowered_form {
  hlo_opcode_t op;
  int operand_count, attr_count;
  const hlo_attr_t *attrs;
  const hlo_shape_t *shape; /* shape of the result; NULL: inferred */
} op_lowered_form_t;

/* Runs the step in that form, under all the rules of its op. Everything is allocated in
 * env->scratch. */
hr_status_t op_lower_dynamic(op_env_t *env, const op_step_t *step, const op_lowered_form_t *form,
                             hlo_value_t *const *in, hlo_value_t **out_value);

#endif
