/* Shape inference: the entry point, its requirements on all instructions, and the functions that
 * many ops share. Inference runs while programs are built, before any verification, and again at
 * run time with actual sizes; it relies only on operands, called computations and attributes being
 * complete objects. */
#include "ops/rules/constraint.h"

/* The column `operands` of ops.def; a negative number is -1 - the least count. */
static hr_status_t check_operand_count(const hlo_instr_t *instr) {
  int wanted = hlo_op_table[instr->op].operands;
  if (wanted >= 0)
    OP_WANT(instr, instr->operand_count == wanted, NULL, "%d operands, want %d",
            instr->operand_count, wanted);
  else
    OP_WANT(instr, instr->operand_count >= -1 - wanted, NULL, "%d operands, want at least %d",
            instr->operand_count, -1 - wanted);
  return NULL;
}

/* Checks that exactly the computations of the attributes are there. */
static hr_status_t check_called(const hlo_instr_t *instr) {
  int64_t named = 0;
  for (int i = 0; i < instr->attr_count; i++) {
    const hlo_attr_t *attr = &instr->attrs[i];
    hlo_attr_kind_t kind = hlo_attr_table[attr->key].kind;
    if (kind != HLO_KIND_COMPUTATION && kind != HLO_KIND_COMPUTATIONS) continue;
    OP_WANT(instr,
            attr->called_count >= 0 && (kind == HLO_KIND_COMPUTATIONS || attr->called_count == 1),
            NULL, "%s names %ld computations, want one", hlo_attr_table[attr->key].text,
            (long)attr->called_count);
    named += attr->called_count;
  }
  OP_WANT(instr, named == instr->called_count, NULL,
          "%d computations are called, and attributes name %ld", instr->called_count, (long)named);
  for (int i = 0; i < instr->called_count; i++)
    OP_WANT(instr, instr->called[i] && instr->called[i]->root, NULL,
            "called computation %d has no root", i);
  return NULL;
}

/* Checks the attributes that op_attrs.def marks as required. */
static hr_status_t check_attributes(const hlo_instr_t *instr) {
  const hlo_op_info_t *info = &hlo_op_table[instr->op];
  for (int i = 0; i < info->attr_count; i++)
    OP_WANT(instr, info->attrs[i].use != HLO_USE_NEED || hlo_attr_has(instr, info->attrs[i].key),
            NULL, "attribute %s is missing",
            *hlo_attr_table[info->attrs[i].key].text ? hlo_attr_table[info->attrs[i].key].text
                                                     : "number");
  return NULL;
}

/* Requirements of all ops are checked first, so that an op's own rule may rely on operands,
 * attributes and called computations being there. */
hr_status_t hlo_infer_shape(hr_arena_t *arena, const hlo_instr_t *instr,
                            const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  HR_TRY(check_operand_count(instr));
  HR_TRY(check_attributes(instr));
  HR_TRY(check_called(instr));
  return op_infers[instr->op](arena, instr, in, out_shape);
}

/* The declared shape must be the inferred one or a dynamic form of it; the rules that inference
 * does not cover are checked next. */
hr_status_t hlo_verify_instr(hr_arena_t *scratch, const hlo_instr_t *instr) {
  const hlo_shape_t **in;
  const hlo_shape_t *inferred;
  HR_TRY(op_operand_shapes(scratch, instr, &in));
  HR_TRY(hlo_infer_shape(scratch, instr, in, &inferred));
  HR_TRY(op_check_declared(instr, inferred));
  return op_verifiers[instr->op](instr);
}

/* Ops whose result only the program declares: parameters, custom calls, infeeds. */
hr_status_t infer_none(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                       const hlo_shape_t **out_shape) {
  (void)arena, (void)in;
  OP_WANT(instr, instr->shape, NULL,
          "the result shape is missing, and does not follow from the operands");
  *out_shape = instr->shape;
  return NULL;
}

/* Control and identity ops accept tuples and tokens; all others need arrays. */
hr_status_t infer_like_operand(hr_arena_t *arena, const hlo_instr_t *instr,
                               const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)arena;
  bool any = hlo_op_is(instr->op, OP_IDENTITY) || hlo_op_is(instr->op, OP_DONE) ||
             hlo_op_is(instr->op, OP_CONTROL);
  if (!any) HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  *out_shape = in[0];
  return NULL;
}

/* An all-reduce's results have the operands' sizes; the element type is the body's if the program
 * declares it. */
static hr_status_t infer_reduced(hr_arena_t *arena, const hlo_instr_t *instr, int k,
                                 const hlo_shape_t *operand, const hlo_shape_t **out_shape) {
  const hlo_shape_t *declared = instr->shape;
  if (declared && instr->operand_count > 1)
    declared =
        hlo_shape_is_tuple(declared) && k < declared->element_count ? declared->elements[k] : NULL;
  const hlo_shape_t *body = instr->called[0]->root->shape;
  HR_TRY(op_want_array(instr, operand, k, "I1"));
  *out_shape = operand;
  if (declared && declared->dtype == body->dtype && body->dtype != operand->dtype &&
      hlo_shape_is_array(body))
    return hlo_shape_with_dtype(arena, operand, body->dtype, out_shape);
  return NULL;
}

/* Each result is like its operand. */
hr_status_t infer_like_operands(hr_arena_t *arena, const hlo_instr_t *instr,
                                const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  if (instr->operand_count == 1 &&
      hlo_shape_is_tuple(in[0])) { /* a single operand that is a tuple of arrays */
    *out_shape = in[0];
    return NULL;
  }
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(arena, instr->operand_count, &shapes));
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(infer_reduced(arena, instr, k, in[k], &shapes[k]));
  return op_results_shape(arena, instr->operand_count, shapes, out_shape);
}

hr_status_t infer_token(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                        const hlo_shape_t **out_shape) {
  (void)arena, (void)instr, (void)in;
  *out_shape = hlo_shape_scalar(HR_TOKEN);
  return NULL;
}

hr_status_t infer_u32_scalar(hr_arena_t *arena, const hlo_instr_t *instr,
                             const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)arena, (void)instr, (void)in;
  *out_shape = hlo_shape_scalar(HR_U32);
  return NULL;
}
