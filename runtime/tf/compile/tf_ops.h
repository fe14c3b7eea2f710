/* The operations of tf_ops.def: names of outputs and lowering functions. */
#ifndef TF_OPS_H
#define TF_OPS_H

#include "base/status.h"
#include "base/arena.h"

typedef struct tf_op tf_op_t;
typedef hr_status_t (*tf_lower_fn)(tf_op_t *op);

#define TF_LIST -1 /* an attribute gives the number of inputs */

typedef struct tf_op_row {
  const char *name;
  int inputs; /* data inputs of a node, or TF_LIST */
  tf_lower_fn lower;
  int variant;         /* argument that distinguishes ops of one function, often an opcode */
  const char *outputs; /* names of the outputs, separated by blanks; "": one output or a list */
} tf_op_row_t;

const tf_op_row_t *tf_op_find(hr_str_t name); /* NULL: not supported */
/* Number of the output argument with this name; -1: the op has one output argument. */
int tf_op_output_position(hr_str_t op, hr_str_t output);

#endif
