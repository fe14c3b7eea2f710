/* Loops and sorts for lowerings of TensorFlow operations that are algorithms. Thread: as
 * tf_lower.h.
 */
#ifndef TF_LOOPS_H
#define TF_LOOPS_H

#include "tf/compile/tf_lower.h"

/* A loop over `count` arrays. `step` replaces the entries of `state` by those of the next
 * iteration, at op->b, which is the builder of the loop's body meanwhile; `trip` is the number of
 * the iteration, an s32 scalar. Loop-invariant arrays are passed through. */
typedef struct tf_steps {
  int count;
  int64_t trips;       /* most iterations */
  bool while_any;      /* state[0] is an array of pred: the loop ends when none is set */
  const void *context; /* argument of `step` */
  void (*step)(tf_op_t *op, const void *context, expr_t trip, expr_t *state);
} tf_steps_t;

/* Builds the loop and replaces `state` by its results. Errors: the builder's; INVALID if an array
 * changes its shape. */
hr_status_t tf_repeat(tf_op_t *op, const tf_steps_t *steps, expr_t *state);

/* A comparator of two scalars for each of `count` types: true if the first pair is ascending. */
hr_status_t tf_less_computation(tf_op_t *op, int count, const hr_dtype_t *dtypes,
                                hlo_computation_t **out);
/* Sorts all arrays along dimension `dim` by the first of them, ascending and stable. */
hr_status_t tf_sort(tf_op_t *op, int count, expr_t *arrays, int dim);
/* Prefix sums or maxima (ADD or MAXIMUM) of a vector. */
expr_t tf_prefix(tf_op_t *op, hlo_opcode_t scalar_op, expr_t x);

#endif
