/* Transposes sink below elementwise ops:
 *
 *   add(transpose(x), transpose(y))     ->   transpose(add(x, y))
 *   multiply(transpose(x), broadcast(v)) ->  transpose(multiply(x, broadcast'(v)))
 *
 * Products, reductions and other transposes can then absorb them, and fusions read their operands
 * in memory order. At least one of the transposes must have no other use, so that their number
 * never grows; for a comparison one other use is allowed, which is usually the select that follows.
 * Exact. */
#include "passes/simplify/simplify.h"

enum { MAX_OPERANDS = 3 }; /* most operands of an elementwise op */

static hr_ints_t dims_of(const hlo_instr_t *instr) {
  return hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
}

/* Broadcasts and iotas cost the same in any order of dimensions. */
static bool is_free(pass_rewrite_t *rewrite, const hlo_instr_t *operand, hr_ints_t permutation) {
  return operand->shape->rank > 1 && (operand->op == HLO_BROADCAST || operand->op == HLO_IOTA) &&
         pass_transpose_is_free(rewrite, operand, permutation);
}

static bool same_order(hr_ints_t a, hr_ints_t b) {
  for (int64_t i = 0; i < a.count; i++)
    if (a.data[i] != b.data[i]) return false;
  return true;
}

/* The permutation shared by all transposed operands; none if there are no such operands, or if all
 * transposes remain for other uses. */
static hr_ints_t shared_permutation(pass_rewrite_t *rewrite, const hlo_instr_t *instr) {
  static const hr_ints_t none;
  hr_ints_t shared = none;
  bool vanishes = false;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    if (!hlo_shape_same_dims(operand->shape, instr->shape)) return none;
    if (operand->op != HLO_TRANSPOSE) continue;
    if (shared.count && !same_order(shared, dims_of(operand))) return none;
    shared = dims_of(operand);
    vanishes |= pass_use_count(rewrite, operand) <= (instr->op == HLO_COMPARE ? 2 : 1);
  }
  return vanishes ? shared : none;
}

static bool others_are_free(pass_rewrite_t *rewrite, const hlo_instr_t *instr, hr_ints_t inverse) {
  for (int k = 0; k < instr->operand_count; k++)
    if (instr->operands[k]->op != HLO_TRANSPOSE && !is_free(rewrite, instr->operands[k], inverse))
      return false;
  return true;
}

hlo_instr_t *simplify_transpose_sink(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *inner[MAX_OPERANDS];
  int64_t inverse[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  if (!hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->shape->rank < 2 ||
      instr->operand_count > MAX_OPERANDS)
    return NULL;
  hr_ints_t permutation = shared_permutation(rewrite, instr);
  if (!permutation.count) return NULL;
  for (int64_t d = 0; d < permutation.count; d++) {
    inverse[permutation.data[d]] = d;
    sizes[permutation.data[d]] = instr->shape->dims[d];
  }
  hr_ints_t back = {inverse, permutation.count};
  if (!others_are_free(rewrite, instr, back)) return NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    hlo_instr_t *operand = instr->operands[k];
    inner[k] = operand->op == HLO_TRANSPOSE ? operand->operands[0]
                                            : pass_build_transposed(rewrite, operand, back);
    if (!inner[k]) return NULL;
  }
  const hlo_shape_t *shape = pass_shape(rewrite, instr->shape->dtype, instr->shape->rank, sizes);
  hlo_instr_t *result = shape ? pass_build_like(rewrite, instr, inner, shape) : NULL;
  return result ? pass_build_transpose(rewrite, result, permutation.data) : NULL;
}
