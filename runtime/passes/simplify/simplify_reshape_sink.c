/* Reshapes sink below elementwise ops and reductions:
 *
 *   add(reshape(x), reshape(y))   ->   reshape(add(x, y))
 *   reduce(reshape(x))            ->   reshape(reduce(x))         only dimensions of size 1 changed
 *
 * There they meet other reshapes, and ops run over the shapes that their operands were computed in.
 * Exact. */
#include "passes/simplify/simplify.h"

static bool is_scalar_fill(const hlo_instr_t *instr) {
  return instr->op == HLO_BROADCAST && hlo_shape_is_scalar(instr->operands[0]->shape);
}

/* The sizes before the reshapes, if all operands are reshapes from the same sizes or broadcasts of
 * one scalar. */
static const hlo_shape_t *sizes_before(const hlo_instr_t *instr) {
  const hlo_shape_t *before = NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    if (operand->shape->rank == 0 || is_scalar_fill(operand)) continue;
    if (operand->op != HLO_RESHAPE) return NULL;
    const hlo_shape_t *from = operand->operands[0]->shape;
    if (before && !hlo_shape_same_dims(before, from)) return NULL;
    before = from;
  }
  return before;
}

static hlo_instr_t *sink_below_elementwise(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *inner[8];
  const hlo_shape_t *before =
      instr->operand_count <= 8 && instr->shape->rank ? sizes_before(instr) : NULL;
  if (!before || !before->rank) return NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    hlo_instr_t *operand = instr->operands[k];
    bool fill = is_scalar_fill(operand);
    const hlo_shape_t *shape =
        fill ? pass_shape(rewrite, operand->shape->dtype, before->rank, before->dims) : NULL;
    if (fill) operand = shape ? pass_build_fill(rewrite, operand->operands[0], shape) : NULL;
    inner[k] = operand && operand->op == HLO_RESHAPE ? operand->operands[0] : operand;
  }
  const hlo_shape_t *shape = pass_shape(rewrite, instr->shape->dtype, before->rank, before->dims);
  hlo_instr_t *result = shape ? pass_build_like(rewrite, instr, inner, shape) : NULL;
  return result ? hlo_build_reshape(&rewrite->builder, result, instr->shape) : NULL;
}

/* ---- reduce ---- */

static bool is_reduced(const hlo_instr_t *reduce, int64_t d) {
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == d) return true;
  return false;
}

/* A reduction of a reshape that only adds or drops dimensions of size 1. Dimensions before the
 * reshape are kept, and dropped after the reduction. */
static hlo_instr_t *sink_below_reduce(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *reshape = instr->operands[0],
              *x = reshape->op == HLO_RESHAPE ? reshape->operands[0] : NULL;
  int64_t dims[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  int count = 0, rank = 0, to = 0;
  if (!x || instr->operand_count != 2 || !pass_same_without_ones(x->shape, reshape->shape))
    return NULL;
  for (int d = 0; d < x->shape->rank; d++) {
    while (x->shape->dims[d] != 1 && reshape->shape->dims[to] == 1) to++;
    bool reduced = x->shape->dims[d] != 1 && is_reduced(instr, to++);
    if (reduced) dims[count++] = d;
    if (!reduced) sizes[rank++] = x->shape->dims[d];
  }
  if (!count) return NULL;
  const hlo_shape_t *shape = pass_shape(rewrite, instr->shape->dtype, rank, sizes);
  hlo_instr_t *operands[] = {x, instr->operands[1]};
  hlo_attr_t attrs[] = {hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, count, dims),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  if (!shape) return NULL;
  hlo_instr_t *result =
      hlo_build(&rewrite->builder, HLO_REDUCE, shape, 2, operands, 2, attrs, 1, instr->called);
  return result ? hlo_build_reshape(&rewrite->builder, result, instr->shape) : NULL;
}

hlo_instr_t *simplify_reshape_sink(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op == HLO_REDUCE) return sink_below_reduce(rewrite, instr);
  return hlo_op_is(instr->op, OP_ELEMENTWISE) ? sink_below_elementwise(rewrite, instr) : NULL;
}
