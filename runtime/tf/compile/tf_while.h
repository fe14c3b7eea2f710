/* Construction of HLO loops for While operations and frames of TensorFlow 1. */
#ifndef TF_WHILE_H
#define TF_WHILE_H

#include "tf/compile/tf_lower.h"

/* A loop with `count` state values; `inside` holds them in the computation of the builder.
 * The two callbacks build instructions at `b`: `condition` returns a predicate, `body` the values
 * of the next iteration in the order of `inside`. `context` is their first argument. */
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
/* Executes the body once to complete `values`, the state before the loop: shapes of empty lists and
 * stacks, and capacity for elements that the loop pushes. Errors: UNSUPPORTED if their number has
 * no bound. */
hr_status_t tf_loop_dry_run(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values);
/* Executes the body once to find the states of all iterations (compiler->states), if an inner loop
 * needs them for its bound. */
hr_status_t tf_loop_enumerate_states(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values);
/* Sets the instructions that represent the values of compiler->states in the code built next. */
hr_status_t tf_states_enter(tf_op_t *op, int count, const tf_value_t *inside);

#endif
