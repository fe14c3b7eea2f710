/* Loops as HLO: how While operations and the frames of TensorFlow 1 build one. */
#ifndef TF_CONTROL_H
#define TF_CONTROL_H

#include "tf/tf_lower.h"

/* `count` values go round; `inside` holds them in the computation of the builder.
 * The two callbacks build instructions at `b`: `condition` gives one predicate, `body` gives the
 * values of the next iteration in the order of `inside`. `context` is handed through. */
typedef struct tf_loop {
  int count;
  bool *keep; /* by value: no iteration changes it; tf_build_loop leaves the constants set */
  void *context;
  hr_status_t (*condition)(void *context, tf_op_t *op, hlo_builder_t *b, const tf_value_t *inside,
                           tf_value_t *out_pred);
  hr_status_t (*body)(void *context, tf_op_t *op, hlo_builder_t *b, const tf_value_t *inside,
                      tf_value_t *out_results);
} tf_loop_t;

/* `values`: the state before; *out_values: after. Lists without shapes get those of the first
 * iteration. Errors: INVALID if a value changes its shape. */
hr_status_t tf_build_loop(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values,
                          tf_value_t *out_values);
/* Executes the body once and changes `values`, the state before the loop, by what that tells:
 * shapes of empty lists and stacks, room for what the loop pushes. Errors: UNSUPPORTED if that has
 * no bound.
 */
hr_status_t tf_try_loop(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values);
/* Executes the body once to find the states of all iterations (compiler->states), as an inner loop
 * has a bound only by them. */
hr_status_t tf_survey_loop(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values);
/* `inside` stands for the values of compiler->states in what is built next. */
hr_status_t tf_states_enter(tf_op_t *op, int count, const tf_value_t *inside);

#endif
