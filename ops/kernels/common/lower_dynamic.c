/* The new instruction is built in scratch memory, inferred and verified with the actual shapes, and
 * then prepared and run like any other: no kernel handles dynamic forms. */
#include "ops/rules/build_rules.h"
#include "ops/rules/verify.h"
#include "ops/kernels/common/lower_dynamic.h"

static bool is_within(const hlo_shape_t *actual, const hlo_shape_t *declared) {
  if (actual->dtype != declared->dtype || actual->rank != declared->rank ||
      actual->element_count != declared->element_count)
    return false;
  for (int d = 0; d < actual->rank; d++) {
    bool is_open = declared->dynamic && declared->dynamic[d];
    bool is_bounded = is_open && declared->dims[d] != HLO_UNBOUNDED;
    if (!is_open && actual->dims[d] != declared->dims[d]) return false;
    if (is_bounded && actual->dims[d] > declared->dims[d]) return false;
  }
  for (int i = 0; i < actual->element_count; i++)
    if (!is_within(actual->elements[i], declared->elements[i])) return false;
  return true;
}

/* Compares sizes given by operands with the declared shape before anything of these sizes is
 * allocated. */
static hr_status_t check_declared(const hlo_instr_t *instr, const hlo_shape_t *actual) {
  char declared[HLO_SHAPE_TEXT], found[HLO_SHAPE_TEXT];
  if (is_within(actual, instr->shape)) return NULL;
  return hlo_error(instr, NULL, "its value does not have the declared shape: it is %s, want %s",
                   hlo_shape_text(actual, found), hlo_shape_text(instr->shape, declared));
}

/* Inference may read the declared element type, the verifier the whole shape. */
static hr_status_t check_form(op_env_t *env, hlo_instr_t *instr, const op_lowered_form_t *form,
                              const hlo_shape_t *const *in) {
  if (form->shape)
    instr->shape = form->shape;
  else
    HR_TRY(hlo_infer_shape(env->scratch, instr, in, &instr->shape));
  return op_verifiers[instr->op](instr);
}

hr_status_t op_lower_dynamic(op_env_t *env, const op_step_t *step, const op_lowered_form_t *form,
                             hlo_value_t *const *in, hlo_value_t **out_value) {
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
  HR_TRY(check_declared(step->instr, instr->shape));
  inner.instr = instr;
  inner.out_shape = instr->shape;
  if (kernel->prepare) HR_TRY(kernel->prepare(env->scratch, &inner, &inner.plan));
  return kernel->run(env, &inner, in, out_value);
}
