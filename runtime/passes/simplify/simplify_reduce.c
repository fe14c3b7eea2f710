/* Reductions:
 *
 *   reduce over dimensions of size 1      ->   reshape
 *   reduce(transpose(x))                  ->   reduce(x) over the permuted dimensions
 *   reduce(reduce(x, dims 1), dims 2)     ->   reduce(x, both)         one op, neutral inner start
 *
 * Bodies must be one commutative op. The order of sums may change, so floats may round differently.
 */
#include "passes/simplify/simplify.h"

static bool is_reduced(const hlo_instr_t *reduce, int64_t d) {
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == d) return true;
  return false;
}

static hlo_instr_t *build_reduce(pass_rewrite_t *rewrite, const hlo_instr_t *from, hlo_instr_t *x,
                                 int count, const int64_t *dims) {
  hlo_instr_t *operands[] = {x, from->operands[1]};
  hlo_attr_t attrs[] = {hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, count, dims),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  return hlo_build(&rewrite->builder, HLO_REDUCE, from->shape, 2, operands, 2, attrs, 1,
                   from->called);
}

/* Without reduced dimensions of size 1. If none is left, the body is applied once to each element
 * and the initial value. */
static hlo_instr_t *drop_unit_dims(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *x = instr->operands[0];
  int64_t sizes[HLO_MAX_RANK], dims[HLO_MAX_RANK];
  hlo_opcode_t op;
  int rank = 0, count = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    bool reduced = is_reduced(instr, d);
    if (reduced && x->shape->dims[d] == 1) continue;
    if (reduced) dims[count++] = rank;
    sizes[rank++] = x->shape->dims[d];
  }
  if (rank == x->shape->rank || (!count && !pass_body_is_binary(instr->called[0], &op)))
    return NULL;
  const hlo_shape_t *shape = pass_shape(rewrite, x->shape->dtype, rank, sizes);
  hlo_instr_t *flat = shape ? hlo_build_reshape(&rewrite->builder, x, shape) : NULL;
  if (count || !flat) return flat ? build_reduce(rewrite, instr, flat, count, dims) : NULL;
  return hlo_build_binary(&rewrite->builder, op,
                          pass_build_fill(rewrite, instr->operands[1], flat->shape), flat);
}

/* The dimensions that stay must stay in order. */
static hlo_instr_t *fold_transpose(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *transpose = instr->operands[0];
  hr_ints_t permutation = hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS);
  int64_t dims[HLO_MAX_RANK], last = -1;
  int count = 0;
  hlo_opcode_t op;
  if (!pass_body_is_binary(instr->called[0], &op)) return NULL;
  for (int64_t d = 0; d < permutation.count; d++) {
    if (is_reduced(instr, d)) continue;
    if (permutation.data[d] < last) return NULL;
    last = permutation.data[d];
  }
  for (int64_t p = 0; p < permutation.count; p++)
    for (int64_t d = 0; d < permutation.count; d++)
      if (permutation.data[d] == p && is_reduced(instr, d)) dims[count++] = p;
  return build_reduce(rewrite, instr, transpose->operands[0], count, dims);
}

/* Both with the same one op, and the inner one starting from its neutral element. */
static bool have_same_op(const hlo_instr_t *outer, const hlo_instr_t *inner) {
  hlo_opcode_t a, b;
  const hlo_instr_t *init = inner->operands[1];
  if (inner->operand_count != 2 || !pass_body_is_binary(outer->called[0], &a) ||
      !pass_body_is_binary(inner->called[0], &b) || a != b)
    return false;
  return pass_is_neutral(a, init);
}

static hlo_instr_t *merge_reduces(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *inner = instr->operands[0], *x = inner->operands[0];
  int64_t dims[HLO_MAX_RANK];
  int count = 0, outer_dim = 0;
  if (!have_same_op(instr, inner) || pass_use_count(rewrite, inner) > 1) return NULL;
  for (int d = 0; d < x->shape->rank; d++) {
    bool inside = is_reduced(inner, d);
    if (inside || is_reduced(instr, outer_dim)) dims[count++] = d;
    outer_dim += !inside;
  }
  return build_reduce(rewrite, instr, x, count, dims);
}

hlo_instr_t *simplify_reduce(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op != HLO_REDUCE || instr->operand_count != 2) return NULL;
  hlo_instr_t *x = instr->operands[0], *replacement = drop_unit_dims(rewrite, instr);
  if (replacement) return replacement;
  if (x->op == HLO_TRANSPOSE) return fold_transpose(rewrite, instr);
  return x->op == HLO_REDUCE ? merge_reduces(rewrite, instr) : NULL;
}
