/* Products with a softmax, as attention has them, are divided by the sums of its rows afterwards:
 *
 *   dot(e / broadcast(s), v)   ->   dot(e, v) / broadcast(s)   where e = exp(x - max(x))
 *
 * Only if the results are fewer than the exponentials, and nothing else reads the quotients. The
 * exponentials are at most 1, so that their sums of products do not overflow where those of the
 * quotients do not, unless elements of v are that large themselves. Rounded once for each result in
 * place of once for each quotient. */
#include "passes/simplify/simplify_dots.h"

/* Is each of the broadcast dimensions one that the side does not contract? */
static bool is_same_along_terms(const hlo_instr_t *instr, const dot_side_t *side) {
  if (instr->op != HLO_BROADCAST) return false;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dot_dim_role(side, dims.data[i]) == CONTRACTING) return false;
  return true;
}

static const hlo_instr_t *without_reshapes(const hlo_instr_t *x) {
  while (x->op == HLO_RESHAPE) x = x->operands[0];
  return x;
}

static bool is_maximum_of(const hlo_instr_t *reduce, const hlo_instr_t *x) {
  hlo_opcode_t op;
  return reduce->op == HLO_REDUCE && without_reshapes(reduce->operands[0]) == without_reshapes(x) &&
         pass_body_is_binary(reduce->called[0], &op) && op == HLO_MAXIMUM;
}

/* Is it exp(x - max(x)), with the maximum over the contracted dimensions? */
static bool is_softmax_numerator(const hlo_instr_t *e, const dot_side_t *side) {
  if (e->op != HLO_EXPONENTIAL || e->operands[0]->op != HLO_SUBTRACT) return false;
  const hlo_instr_t *x = e->operands[0]->operands[0], *maxima = e->operands[0]->operands[1];
  return is_same_along_terms(maxima, side) &&
         is_maximum_of(without_reshapes(maxima->operands[0]), x);
}

/* Dimension of the result of a product whose left side this is that is dimension `d` of it. */
static int64_t result_dim(const dot_side_t *left, int64_t d) {
  for (int64_t i = 0; i < left->batch.count; i++)
    if (left->batch.data[i] == d) return i;
  int64_t at = left->batch.count;
  for (int64_t i = 0; i < d; i++) at += dot_dim_role(left, i) == FREE;
  return at;
}

/* The dimension of the result that is its dimension d if the operands are swapped. */
static void swapped_order(const dot_side_t sides[2], int rank, int64_t *order) {
  int batch = (int)sides[0].batch.count, left = dot_free_count(&sides[0]);
  int right = rank - batch - left;
  for (int d = 0; d < batch; d++) order[d] = d;
  for (int d = 0; d < right; d++) order[batch + d] = batch + left + d;
  for (int d = 0; d < left; d++) order[batch + right + d] = batch + d;
}

/* The softmax is the left operand of the new product, whose rows its rows are then: kernels that
 * compute a tile of the scores multiply it by v while it is in the caches. */
static hlo_instr_t *divide_result(pass_rewrite_t *rewrite, const hlo_instr_t *dot,
                                  const dot_side_t sides[2], int number) {
  const hlo_instr_t *quotients = sides[number].x, *divisors = quotients->operands[1];
  const hlo_shape_t *shape = dot->shape;
  hr_ints_t dims = hlo_attr_ints(divisors, HLO_ATTR_DIMENSIONS);
  int64_t to[HLO_MAX_RANK], order[HLO_MAX_RANK], sizes[HLO_MAX_RANK], back[HLO_MAX_RANK];
  dot_side_t turned[] = {sides[number], sides[1 - number]};
  for (int d = 0; d < shape->rank; d++) order[d] = d;
  if (number) swapped_order(sides, shape->rank, order);
  for (int d = 0; d < shape->rank; d++) {
    sizes[d] = shape->dims[order[d]];
    back[order[d]] = d;
  }
  for (int64_t i = 0; i < dims.count; i++) to[i] = result_dim(&turned[0], dims.data[i]);
  turned[0].x = quotients->operands[0];
  const hlo_shape_t *all = pass_shape(rewrite, shape->dtype, shape->rank, sizes);
  if (!all) return NULL;
  hlo_instr_t *product = dot_build(rewrite, dot, turned, all);
  hlo_instr_t *sums = dot_broadcast_operand(rewrite, divisors->operands[0], to, all);
  hlo_instr_t *result = hlo_build_binary(&rewrite->builder, HLO_DIVIDE, product, sums);
  return number ? pass_build_transpose(rewrite, result, back) : result;
}

hlo_instr_t *simplify_softmax_dot(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  dot_side_t sides[2];
  if (instr->op != HLO_DOT || !dot_may_swap(instr)) return NULL;
  dot_sides_read(instr, sides);
  for (int s = 0; s < 2; s++) {
    const hlo_instr_t *x = sides[s].x;
    hr_dtype_t dtype = x->shape->dtype;
    if (x->op != HLO_DIVIDE || pass_use_count(rewrite, x) > 1 || instr->shape->dtype != dtype ||
        (dtype != HR_F32 && dtype != HR_F64))
      continue;
    if (hlo_shape_elements(instr->shape) < hlo_shape_elements(x->shape) &&
        is_same_along_terms(x->operands[1], &sides[s]) &&
        is_softmax_numerator(x->operands[0], &sides[s]))
      return divide_result(rewrite, instr, sides, s);
  }
  return NULL;
}
