/* Calls of functions of the graph's library. The body is executed in the current computation,
 * inlined, so that constants stay constants. */
#include "tf/compile/tf_call.h"

hr_status_t tf_find_function(tf_op_t *op, hr_str_t name, const tf_body_t **out_function) {
  *out_function = tf_graph_function(op->scope->compiler->graph, name);
  if (*out_function) return NULL;
  return tf_error(op, "there is no function %.*s", HR_STR_ARGS(name));
}

hr_status_t tf_attr_body(tf_op_t *op, const char *attr, const tf_body_t **out_function) {
  hr_str_t name;
  HR_TRY(tf_attr_function(op->arena, op->node, attr, &name));
  return tf_find_function(op, name, out_function);
}

hr_status_t tf_input_values(tf_op_t *op, int first, int *out_count, tf_value_t **out_values) {
  if (first > op->input_count) return tf_error(op, "there is no input %d", first - 1);
  *out_count = op->input_count - first;
  HR_TRY(HR_NEW_ARRAY(op->arena, *out_count, out_values));
  for (int k = 0; k < *out_count; k++) (*out_values)[k] = *op->inputs[first + k];
  return NULL;
}

hr_status_t tf_call_function(tf_op_t *op, const tf_body_t *function, int count,
                             const tf_value_t *values) {
  HR_TRY(tf_need_outputs(op, function->ret_count));
  return tf_execute_function(op->scope->compiler, op->b, function, count, values, op->outputs);
}

/* PartitionedCall and StatefulPartitionedCall: attribute f is the function, all inputs its
 * arguments. */
hr_status_t tf_lower_call(tf_op_t *op) {
  const tf_body_t *function;
  tf_value_t *values;
  int count;
  HR_TRY(tf_attr_body(op, "f", &function));
  HR_TRY(tf_input_values(op, 0, &count, &values));
  return tf_call_function(op, function, count, values);
}
