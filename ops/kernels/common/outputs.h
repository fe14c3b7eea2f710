/* Results of ops that may have one or several: an array, or a tuple of arrays, as step->out_shape
 * says. */
#ifndef HLO_OPS_OUTPUTS_H
#define HLO_OPS_OUTPUTS_H

#include "ops/kernels/kernel.h"

/* Number of arrays of the result. */
static inline int op_outputs_count(const op_step_t *step) {
  return hlo_shape_is_tuple(step->out_shape) ? step->out_shape->element_count : 1;
}
static inline const hlo_shape_t *op_outputs_shape(const op_step_t *step, int k) {
  return hlo_shape_is_tuple(step->out_shape) ? step->out_shape->elements[k] : step->out_shape;
}

/* New arrays of undefined contents in a list that lives in env->scratch; none on failure. */
hr_status_t op_outputs_create(op_env_t *env, const op_step_t *step, hlo_value_t ***out_values);
/* Makes the result of its arrays, whose references it takes. If `st` is a failure, it releases them
 * and returns `st`. */
hr_status_t op_outputs_finish(const op_step_t *step, hr_status_t st, int count,
                              hlo_value_t **values, hlo_value_t **out_value);

#endif
