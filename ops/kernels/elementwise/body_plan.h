/* The flattened form of a body. Private to body.c, which executes it, and body_flatten.c, which
 * builds it. */
#ifndef HLO_OPS_BODY_PLAN_H
#define HLO_OPS_BODY_PLAN_H

#include "ops/kernels/elementwise/body.h"

/* Size of a run's scratch area, which is on the C stack. */
#define BODY_SCRATCH_BYTES 16384

typedef enum body_kind { BODY_PARAM, BODY_CONSTANT, BODY_STEP } body_kind_t;

/* A scalar inside the body. */
typedef struct body_value {
  body_kind_t kind;
  int number;       /* parameter or step number */
  const void *data; /* constant: one element, borrowed from the module */
  int element_bytes;
  int last_reader; /* last step that reads it; -1: none; the step count for results */
  int64_t offset;  /* step result: offset of lane 0 in the scratch area, bytes per lane */
} body_value_t;

typedef struct body_step {
  const ew_kernel_t *kernel;
  const hlo_instr_t *instr;
  int operand_count;
  int operands[EW_MAX_OPERANDS]; /* indices of values */
  int result;
} body_step_t;

struct op_body {
  const hlo_computation_t *computation;
  int param_count, result_count;
  const hr_dtype_t *param_dtypes, *result_dtypes;
  bool flat; /* false: called element by element */
  int value_count, step_count;
  const body_value_t *values;
  const body_step_t *steps;
  const int *results;     /* indices of values */
  int64_t lane_bytes;     /* scratch bytes per lane */
  hlo_opcode_t binary_op; /* valid if binary_kernel is not NULL */
  const ew_kernel_t *binary_kernel;
};

/* True for an array of one element, of any rank. */
bool body_is_scalar(const hlo_shape_t *shape);
/* Builds the steps of a body whose computation and types are set. A computation that is not
 * elementwise, or too large once its calls are inlined, is no error: body->flat stays false. */
hr_status_t body_flatten(hr_arena_t *arena, op_body_t *body);

#endif
