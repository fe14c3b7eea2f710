/* Loops and sorts that lowerings build by hand, where TensorFlow's operation is an algorithm and
 * not a formula. Thread: as tf_lower.h. */
#ifndef TF_LOOPS_H
#define TF_LOOPS_H

#include "tf/tf_lower.h"

/* A loop over `count` arrays. `step` replaces the entries of `state` by those of the next
 * iteration, at op->b, which is the builder of the loop's body meanwhile; `trip` is the number of
 * the iteration, an s32 scalar. Arrays that no iteration changes are handed through. */
typedef struct tf_steps {
  int count;
  int64_t trips;       /* most iterations */
  bool while_any;      /* state[0] is an array of pred: the loop ends when none is set */
  const void *context; /* handed to `step` */
  void (*step)(tf_op_t *op, const void *context, expr_t trip, expr_t *state);
} tf_steps_t;

/* Replaces `state` by what it is after the loop. Errors: the builder's; INVALID if an array changes
 * its shape. */
hr_status_t tf_repeat(tf_op_t *op, const tf_steps_t *steps, expr_t *state);

/* A computation of two scalars for each of `count` types that tells whether the first pair is in
 * ascending order. */
hr_status_t tf_less_computation(tf_op_t *op, int count, const hr_dtype_t *dtypes,
                                hlo_computation_t **out);
/* Sorts all arrays along dimension `dim` by the first of them, ascending and stable. */
hr_status_t tf_sort(tf_op_t *op, int count, expr_t *arrays, int dim);
/* Sums of the elements up to each one, along the only dimension; by ADD or MAXIMUM. */
expr_t tf_prefix(tf_op_t *op, hlo_opcode_t scalar_op, expr_t x);

#endif
