/* One execution of an instruction, as determined by the program and the shapes of the operands: the
 * argument of kernels and of the queries that need actual sizes. */
#ifndef HLO_OPS_OP_STEP_H
#define HLO_OPS_OP_STEP_H

#include "ir/module.h"

typedef struct op_step {
  const hlo_instr_t *instr;
  const hlo_shape_t *const *in_shapes; /* actual shapes: static sizes */
  const hlo_shape_t *out_shape; /* static, unless the kernel determines it (dynamic-reshape) */
  const void *plan;             /* from op_kernel_t.prepare; NULL if the kernel has none */
  uint64_t last_use;            /* bit k: operand k (k < 64) is not used after this step */
} op_step_t;

static inline bool op_is_last_use(const op_step_t *step, int k) {
  return k < 64 && (step->last_use >> k & 1);
}

/* The dense elements of a constant operand, else NULL. */
static inline const void *op_constant_data(const hlo_instr_t *operand) {
  return operand->op == HLO_CONSTANT && operand->literal ? operand->literal->data : NULL;
}

#endif
