#include "ops/kernels/elementwise/promote_operands.h"

/* Elementwise kernels are prepared for instructions: this is the implicit conversion as an
 * instruction. */
static hr_status_t plan_conversion(hr_arena_t *arena, const hlo_instr_t *instr, hr_dtype_t from,
                                   hr_dtype_t to, const ew_kernel_t **out_kernel) {
  hlo_instr_t operand = {
      .op = HLO_PARAMETER, .shape = hlo_shape_scalar(from), .parent = instr->parent};
  hlo_instr_t *operands[] = {&operand};
  hlo_instr_t convert = {.op = HLO_CONVERT,
                         .name = instr->name,
                         .shape = hlo_shape_scalar(to),
                         .operand_count = 1,
                         .operands = operands,
                         .parent = instr->parent,
                         .line = instr->line,
                         .column = instr->column};
  return ew_kernel_prepare(arena, &convert, out_kernel);
}

hr_status_t promote_prepare(hr_arena_t *arena, const op_step_t *step, const op_body_t *body,
                            const int *param_of, promote_plan_t *plan) {
  const ew_kernel_t **kernels;
  hr_dtype_t *dtypes;
  *plan = (promote_plan_t){.count = step->instr->operand_count};
  HR_TRY(HR_NEW_ARRAY(arena, plan->count, &kernels));
  HR_TRY(HR_NEW_ARRAY(arena, plan->count, &dtypes));
  for (int k = 0; k < plan->count; k++) {
    hr_dtype_t from = step->in_shapes[k]->dtype;
    dtypes[k] = param_of[k] < 0 ? from : op_body_param_dtype(body, param_of[k]);
    if (dtypes[k] == from) continue;
    HR_TRY(plan_conversion(arena, step->instr, from, dtypes[k], &kernels[k]));
    plan->needed = true;
  }
  plan->kernels = kernels;
  plan->dtypes = dtypes;
  return NULL;
}

static hr_status_t convert_value(const ew_kernel_t *kernel, hr_dtype_t to, const hlo_value_t *value,
                                 hlo_value_t **out_value) {
  HR_TRY(hlo_value_array(to, value->rank, value->dims, out_value));
  const void *ins[] = {value->data};
  if (value->count) ew_kernel_run(kernel, value->count, ins, (int64_t[]){1}, (*out_value)->data);
  return NULL;
}

hr_status_t promote_run(op_env_t *env, const promote_plan_t *plan, hlo_value_t *const *in,
                        hlo_value_t ***out_list) {
  hlo_value_t **list;
  hr_status_t st = NULL;
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->count, &list));
  for (int k = 0; k < plan->count && !st; k++) {
    if (plan->kernels[k])
      st = convert_value(plan->kernels[k], plan->dtypes[k], in[k], &list[k]);
    else
      list[k] = hlo_value_retain(in[k]);
  }
  if (st)
    promote_release(plan, list);
  else
    *out_list = list;
  return st;
}

void promote_release(const promote_plan_t *plan, hlo_value_t **list) {
  for (int k = 0; k < plan->count; k++) hlo_value_release(list[k]);
}
