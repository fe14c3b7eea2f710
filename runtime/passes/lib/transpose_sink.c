/* Transposes of values computed from broadcasts: the small arrays are transposed instead, and the
 * result is computed in the permuted order:
 *
 *   transpose(add(broadcast(x), iota))   ->   add(broadcast(transpose(x)), iota')
 *
 * Exact. Depth is bounded, and intermediate values must have one use. */
#include "passes/lib/pass_match.h"

enum { MAX_DEPTH = 8, MIN_RATIO = 4 };

static hr_ints_t dims_of(const hlo_instr_t *instr) {
  return hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
}

/* Do the dimensions of the broadcast array keep their order? It is then not transposed. */
static bool keeps_order(const hlo_instr_t *broadcast, hr_ints_t permutation) {
  hr_ints_t from = dims_of(broadcast);
  int64_t places[HLO_MAX_RANK];
  for (int64_t d = 0; d < permutation.count; d++) places[permutation.data[d]] = d;
  for (int64_t i = 1; i < from.count; i++)
    if (places[from.data[i - 1]] > places[from.data[i]]) return false;
  return true;
}

static bool transpose_is_free(pass_rewrite_t *rewrite, const hlo_instr_t *x, hr_ints_t permutation,
                              int depth) {
  if (x->op == HLO_IOTA || (x->op == HLO_BROADCAST && x->operands[0]->shape->rank < 2)) return true;
  if (x->op == HLO_BROADCAST)
    return keeps_order(x, permutation) ||
           hlo_shape_elements(x->operands[0]->shape) * MIN_RATIO <= hlo_shape_elements(x->shape);
  if (depth == MAX_DEPTH || pass_use_count(rewrite, x) > 1) return false;
  if (x->op == HLO_TRANSPOSE) return depth > 0;
  if (!hlo_op_is(x->op, OP_ELEMENTWISE)) return false;
  for (int k = 0; k < x->operand_count; k++) {
    const hlo_instr_t *operand = x->operands[k];
    if (!hlo_shape_same_dims(operand->shape, x->shape) ||
        !transpose_is_free(rewrite, operand, permutation, depth + 1))
      return false;
  }
  return x->operand_count > 0;
}

bool pass_transpose_is_free(pass_rewrite_t *rewrite, const hlo_instr_t *x, hr_ints_t permutation) {
  return x->shape->rank > 1 && transpose_is_free(rewrite, x, permutation, 0);
}

static const hlo_shape_t *transposed_shape(pass_rewrite_t *rewrite, const hlo_shape_t *shape,
                                           hr_ints_t permutation) {
  int64_t sizes[HLO_MAX_RANK];
  for (int64_t d = 0; d < permutation.count; d++) sizes[d] = shape->dims[permutation.data[d]];
  return pass_shape(rewrite, shape->dtype, shape->rank, sizes);
}

/* Transposes the operand of the broadcast, unless the order of its dimensions is unchanged. */
static hlo_instr_t *transposed_broadcast(pass_rewrite_t *rewrite, const hlo_instr_t *broadcast,
                                         hr_ints_t permutation, const hlo_shape_t *shape) {
  hlo_instr_t *x = broadcast->operands[0];
  hr_ints_t from = dims_of(broadcast);
  int64_t order[HLO_MAX_RANK], dims[HLO_MAX_RANK];
  int rank = 0;
  bool moves = false;
  for (int64_t d = 0; d < permutation.count; d++)
    for (int64_t i = 0; i < from.count; i++)
      if (from.data[i] == permutation.data[d]) {
        moves |= i != rank;
        order[rank] = i;
        dims[rank++] = d;
      }
  hlo_instr_t *transposed = moves ? pass_build_transpose(rewrite, x, order) : x;
  return transposed
             ? hlo_build_broadcast(&rewrite->builder, transposed, shape, (hr_ints_t){dims, rank})
             : NULL;
}

static hlo_instr_t *transposed_iota(pass_rewrite_t *rewrite, const hlo_instr_t *iota,
                                    hr_ints_t permutation, const hlo_shape_t *shape) {
  int64_t d = 0;
  while (permutation.data[d] != hlo_attr_int(iota, HLO_ATTR_IOTA_DIMENSION)) d++;
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, d);
  return hlo_build(&rewrite->builder, HLO_IOTA, shape, 0, NULL, 1, &attr, 0, NULL);
}

/* Operands satisfy pass_transpose_is_free: elementwise ops have at most three. */
static hlo_instr_t *transposed_elementwise(pass_rewrite_t *rewrite, const hlo_instr_t *x,
                                           hr_ints_t permutation, const hlo_shape_t *shape) {
  hlo_instr_t *transposed[3];
  for (int k = 0; k < x->operand_count; k++) {
    transposed[k] = pass_build_transposed(rewrite, x->operands[k], permutation);
    if (!transposed[k]) return NULL;
  }
  return pass_build_like(rewrite, x, transposed, shape);
}

hlo_instr_t *pass_build_transposed(pass_rewrite_t *rewrite, hlo_instr_t *x, hr_ints_t permutation) {
  const hlo_shape_t *shape = transposed_shape(rewrite, x->shape, permutation);
  if (!shape) return NULL;
  if (x->op == HLO_BROADCAST) return transposed_broadcast(rewrite, x, permutation, shape);
  if (x->op == HLO_IOTA) return transposed_iota(rewrite, x, permutation, shape);
  if (hlo_op_is(x->op, OP_ELEMENTWISE) && x->operand_count <= 3)
    return transposed_elementwise(rewrite, x, permutation, shape);
  return pass_build_transpose(rewrite, x, permutation.data);
}
