/* Row sums: scatters that add sparse gradients to variables, and the optimizer's operations on the
 * rows before.
 * Thread: read-only. */
#ifndef TF_ROW_UPDATES_H
#define TF_ROW_UPDATES_H

#include "ir/module.h"

/* Properties of the entry computation's instructions, by id. */
typedef struct tf_rows {
  hr_arena_t *arena;
  const hlo_computation_t *entry;
  size_t count; /* instructions */
  bool *local;  /* the value differs between replicas */
  bool *leaf;   /* replaced by its mean over the replicas */
  bool *region; /* built again on these means */
} tf_rows_t;

/* Whether an instruction sums updates into rows of its operand: a scatter by addition or
 * subtraction. */
bool tf_is_row_sum(const hlo_instr_t *instr);
/* Whether all elements are a constant 0. */
bool tf_is_zeros(const hlo_instr_t *instr);
hlo_instr_t *tf_without_reshape(hlo_instr_t *x);

/* --- tf_row_updates.c --- */
/* *out_linear: the updates of a row sum are linear in rows of the backward pass, with factors that
 * are the same on all replicas for equal row indices. Then the sum over the replicas equals the sum
 * of one process that has all rows. */
hr_status_t tf_row_updates_linear(const tf_rows_t *program, const hlo_instr_t *sum,
                                  bool *out_linear);

/* --- tf_row_sums.c --- */
/* Id of the row sum of the gradient whose squares leaf `at` sums; `at` itself: not a sum of
 * squares.
 */
size_t tf_gradient_of(const tf_rows_t *program, size_t at);
/* The rows of one process with all examples are those of the replicas over their number, so that
 * the sum of its squares is the sum of theirs over the square of it. */
bool tf_is_sum_of_squares(const tf_rows_t *program, const hlo_instr_t *leaf);
/* *out_bad: the mean of a scatter that is a leaf differs from the result of one process with all
 * rows. */
hr_status_t tf_check_rows(const tf_rows_t *program, const hlo_instr_t *scatter, bool *out_bad);

#endif
