#include "ops/run_as.h"

/* Inference may look at the declared element type, the verifier at the whole shape. */
static hr_status_t check_form(op_env_t *env, hlo_instr_t *instr, const op_static_form_t *form,
                              const hlo_shape_t *const *in) {
  if (form->shape)
    instr->shape = form->shape;
  else
    HR_TRY(hlo_infer_shape(env->scratch, instr, in, &instr->shape));
  return op_verifiers[instr->op](instr);
}

hr_status_t op_run_as(op_env_t *env, const op_step_t *step, const op_static_form_t *form, hlo_value_t *const *in,
                      hlo_value_t **out_value) {
  const op_kernel_t *kernel = op_kernels[form->op];
  hlo_instr_t *instr;
  op_step_t inner = *step;
  HR_TRY(HR_NEW(env->scratch, &instr));
  *instr = *step->instr;
  instr->op = form->op;
  instr->operand_count = form->operand_count;
  instr->attr_count = form->attr_count;
  instr->attrs = form->attrs;
  HR_TRY(check_form(env, instr, form, step->in_shapes));
  inner.instr = instr;
  inner.out_shape = instr->shape;
  if (kernel->prepare) HR_TRY(kernel->prepare(env->scratch, &inner, &inner.plan));
  return kernel->run(env, &inner, in, out_value);
}
