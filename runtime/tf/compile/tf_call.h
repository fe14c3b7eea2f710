/* Functions of the graph's library, and the values that calls, branches and loops pass to them.
 * Thread: as tf_lower.h. */
#ifndef TF_CALL_H
#define TF_CALL_H

#include "tf/compile/tf_lower.h"

/* The function of that name. Errors: INVALID if the library has none. */
hr_status_t tf_find_function(tf_op_t *op, hr_str_t name, const tf_body_t **out_function);
/* The function that an attribute of the node names, such as then_branch or body. Errors:
 * INVALID. */
hr_status_t tf_attr_body(tf_op_t *op, const char *attr, const tf_body_t **out_function);
/* Copies of the inputs from `first` on: packing and dry runs may change them without touching
 * the edges of the graph. Errors: INVALID if there are fewer inputs. */
hr_status_t tf_input_values(tf_op_t *op, int first, int *out_count, tf_value_t **out_values);
/* Executes a function inline on `values`; its results become the outputs of the node. */
hr_status_t tf_call_function(tf_op_t *op, const tf_body_t *function, int count,
                             const tf_value_t *values);

#endif
