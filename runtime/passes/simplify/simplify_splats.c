/* Elementwise ops on broadcasts:
 *
 *   add(broadcast(x), broadcast(y))   ->   broadcast(add(x, y))      equal broadcast dimensions
 *
 * Fewer elements are computed. Exact. */
#include "passes/simplify/simplify.h"

static bool is_scalar_fill(const hlo_instr_t *instr) {
  return instr->op == HLO_BROADCAST && hlo_shape_is_scalar(instr->operands[0]->shape);
}

static bool same_broadcast(const hlo_instr_t *a, const hlo_instr_t *b) {
  hr_ints_t x = hlo_attr_ints(a, HLO_ATTR_DIMENSIONS), y = hlo_attr_ints(b, HLO_ATTR_DIMENSIONS);
  if (x.count != y.count || !hlo_shape_same_dims(a->operands[0]->shape, b->operands[0]->shape))
    return false;
  for (int64_t i = 0; i < x.count; i++)
    if (x.data[i] != y.data[i]) return false;
  return true;
}

/* A broadcast (not of a scalar) with whose dimensions the others agree; NULL: they do not agree. */
static hlo_instr_t *find_common_broadcast(const hlo_instr_t *instr) {
  hlo_instr_t *model = NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    hlo_instr_t *operand = instr->operands[k];
    if (operand->shape->rank == 0) continue;
    if (operand->op != HLO_BROADCAST) return NULL;
    if (!model || is_scalar_fill(model)) model = operand;
    if (!is_scalar_fill(operand) && !same_broadcast(operand, model)) return NULL;
  }
  return model;
}

hlo_instr_t *simplify_splats(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *inner[8], *model;
  if (!hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->operand_count > 8 || !instr->shape->rank)
    return NULL;
  if (!(model = find_common_broadcast(instr))) return NULL;
  const hlo_shape_t *narrow = model->operands[0]->shape;
  if (hlo_shape_elements(narrow) == hlo_shape_elements(instr->shape) &&
      narrow->rank == instr->shape->rank)
    return NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    hlo_instr_t *operand = instr->operands[k],
                *scalar = operand->op == HLO_BROADCAST ? operand->operands[0] : operand;
    const hlo_shape_t *shape =
        pass_shape(rewrite, scalar->shape->dtype, narrow->rank, narrow->dims);
    bool fill = scalar->shape->rank == 0 && operand->shape->rank > 0 && shape;
    inner[k] = fill ? pass_build_fill(rewrite, scalar, shape) : scalar;
  }
  const hlo_shape_t *shape = pass_shape(rewrite, instr->shape->dtype, narrow->rank, narrow->dims);
  hlo_instr_t *result = shape ? pass_build_like(rewrite, instr, inner, shape) : NULL;
  if (!result) return NULL;
  return hlo_build_broadcast(&rewrite->builder, result, instr->shape,
                             hlo_attr_ints(model, HLO_ATTR_DIMENSIONS));
}
