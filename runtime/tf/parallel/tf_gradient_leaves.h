/* Analysis of a training step for tf_data_parallel.c: local values, leaves and the optimizer.
 * Arrays by instruction are those of tf_rows_t. Thread: one per module. */
#ifndef TF_GRADIENT_LEAVES_H
#define TF_GRADIENT_LEAVES_H

#include "ops/rules/formula.h"
#include "tf/parallel/tf_row_updates.h"

/* Facts about the instructions of the entry computation, by number. */
typedef struct tf_parallel {
  hlo_module_t *module;
  hlo_builder_t b;
  tf_rows_t r;    /* classes of instructions, before anything is added */
  bool *bad;      /* a sum of rows whose mean is not that of one process */
  expr_t *copies; /* its replacement in the optimizer */
  bool is_strict; /* as in tf_data_parallel_t */
} tf_parallel_t;

/* Whether the result differs between replicas although the operands do not. */
bool tf_is_replica_source(const hlo_instr_t *instr);
/* Sets r.local: whether a value depends on a source or on a parameter that is no variable.
 * Parameters from `parameter_count` on are none. */
void tf_mark_local(tf_parallel_t *p, int parameter_count, const bool *is_variable);
/* Whether the operation changes the shape or type of its only array, and is linear in it. */
bool tf_is_shape_change(hlo_opcode_t op);
/* Sets r.leaf and r.region, the optimizer, for all that `from` depends on. Values that several
 * parts of the backward pass read are shared: a product among them is a leaf all the same.
 * Errors: NO_MEMORY. */
hr_status_t tf_find_leaves(tf_parallel_t *p, expr_t from);
/* Leaves whose local values all come through other leaves become part of the optimizer, and so
 * do the values that they are computed from. Errors: NO_MEMORY. */
hr_status_t tf_move_covered_leaves(tf_parallel_t *p);
/* Marks what lies between other leaves and the updates of sums of rows, which is built again,
 * too, and sums of rows whose mean is not that of one process (bad). Errors: NO_MEMORY. */
hr_status_t tf_find_scaled_rows(tf_parallel_t *p);
/* Whether rows are scaled by a scalar that is computed from them, their norm: then the leaf
 * hides the optimizer, which would scale by the norm of all replicas. Errors: NO_MEMORY. */
hr_status_t tf_scales_by_norm(const tf_parallel_t *p, const hlo_instr_t *leaf, bool *out_scales);

#endif
