/* Ownership: the list owns its references until op_outputs_finish, which moves one array out or
 * lets the tuple retain all. */
#include "ops/kernels/common/outputs.h"

static void release_all(int count, hlo_value_t **values) {
  for (int k = 0; k < count; k++) hlo_value_release(values[k]);
}

hr_status_t op_outputs_create(op_env_t *env, const op_step_t *step, hlo_value_t ***out_values) {
  int count = op_outputs_count(step);
  hlo_value_t **values;
  HR_TRY(HR_NEW_ARRAY(env->scratch, count, &values));
  hr_status_t st = NULL;
  for (int k = 0; k < count && !st; k++) {
    const hlo_shape_t *shape = op_outputs_shape(step, k);
    st = hlo_value_array(shape->dtype, shape->rank, shape->dims, &values[k]);
  }
  if (st)
    release_all(count, values);
  else
    *out_values = values;
  return st;
}

hr_status_t op_outputs_finish(const op_step_t *step, hr_status_t st, int count,
                              hlo_value_t **values, hlo_value_t **out_value) {
  if (!st && !hlo_shape_is_tuple(step->out_shape)) {
    *out_value = values[0];
    return NULL;
  }
  if (!st) st = hlo_value_tuple(count, values, out_value);
  release_all(count, values);
  return st;
}
