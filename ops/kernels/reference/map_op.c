/* map: a scalar computation applied to the elements of arrays of the same sizes, by op_body_run.
 * Source: StableHLO spec, map. */
#include "ops/kernels/elementwise/body.h"

/* One scalar parameter per operand and one scalar result (map C4). */
static hr_status_t map_prepare(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const op_body_t *body;
  HR_TRY(op_body_prepare(arena, step->instr->called[0], &body));
  if (op_body_param_count(body) != step->instr->operand_count || op_body_result_count(body) != 1)
    return hlo_error(
        step->instr, "map C4", "the computation takes %d values and gives %d, want %d and 1",
        op_body_param_count(body), op_body_result_count(body), step->instr->operand_count);
  *out_plan = body;
  return NULL;
}

/* Strides are 1 for all operands; the verifier rejects scalars beside arrays. */
static hr_status_t map_arguments(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 const void ***out_data, int64_t **out_steps) {
  int count = step->instr->operand_count;
  HR_TRY(HR_NEW_ARRAY(env->scratch, count, out_data));
  HR_TRY(HR_NEW_ARRAY(env->scratch, count, out_steps));
  for (int k = 0; k < count; k++) {
    if (in[k]->count != in[0]->count || in[k]->dtype != op_body_param_dtype(step->plan, k))
      return hlo_error(step->instr, "map C1",
                       "operand %d does not fit the others or the computation", k);
    (*out_data)[k] = in[k]->data;
    (*out_steps)[k] = 1;
  }
  return NULL;
}

static hr_status_t map_run(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  const void **data;
  int64_t *steps;
  HR_TRY(map_arguments(env, step, in, &data, &steps));
  hlo_value_t *out;
  HR_TRY(op_output(env, step, &out));
  hr_status_t st = op_body_run(env, step->plan, out->count, data, steps, &out->data);
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

const op_kernel_t kernel_map = {map_prepare, map_run};
