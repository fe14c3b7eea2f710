/* Products with a softmax, as attention has them, are divided by the sums of its rows afterwards;
 * of those that sum over its rows, as the gradient of attention does, the other operand is:
 *
 *   dot(e / broadcast(s), v)     ->   dot(e, v) / broadcast(s)     where e = exp(x - max(x))
 *   dot((e / broadcast(s))', v)  ->   dot(e', v / broadcast(s))
 *
 * Only if what is divided is less than the exponentials, and such products alone read the
 * quotients, so that these are not computed, and what the gradient keeps are the exponentials. They
 * are at most 1, so that their sums of products do not overflow where those of the quotients do
 * not, unless elements of v are that large themselves; the sums are at least 1. Rounded once for
 * each element that is divided in place of once for each quotient. */
#include "passes/simplify/simplify_dots.h"

/* Is it a broadcast none of whose dimensions has this role in the product? */
static bool is_broadcast_without(const hlo_instr_t *instr, const dot_side_t *side,
                                 dot_role_t role) {
  if (instr->op != HLO_BROADCAST) return false;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dot_dim_role(side, dims.data[i]) == role) return false;
  return true;
}

static bool are_broadcast_alike(const hlo_instr_t *a, const hlo_instr_t *b) {
  if (a->op != HLO_BROADCAST || b->op != HLO_BROADCAST) return false;
  hr_ints_t first = hlo_attr_ints(a, HLO_ATTR_DIMENSIONS),
            second = hlo_attr_ints(b, HLO_ATTR_DIMENSIONS);
  bool are_alike = first.count == second.count;
  for (int64_t i = 0; i < first.count && are_alike; i++)
    are_alike = first.data[i] == second.data[i];
  return are_alike;
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

/* Is it exp(x - max(x)), with maxima of the rows that these are sums of? */
static bool is_softmax_numerator(const hlo_instr_t *e, const hlo_instr_t *sums) {
  if (e->op != HLO_EXPONENTIAL || e->operands[0]->op != HLO_SUBTRACT) return false;
  const hlo_instr_t *x = e->operands[0]->operands[0], *maxima = e->operands[0]->operands[1];
  return are_broadcast_alike(maxima, sums) &&
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

/* The dimension of the other side that is summed or batched together with this one. */
static int64_t shared_dim(const dot_side_t sides[2], int number, int64_t d) {
  const dot_side_t *side = &sides[number], *other = &sides[1 - number];
  for (int64_t i = 0; i < side->batch.count; i++)
    if (side->batch.data[i] == d) return other->batch.data[i];
  for (int64_t i = 0; i < side->contracting.count; i++)
    if (side->contracting.data[i] == d) return other->contracting.data[i];
  return -1;
}

static hlo_instr_t *divide_other(pass_rewrite_t *rewrite, const hlo_instr_t *dot,
                                 const dot_side_t sides[2], int number) {
  const hlo_instr_t *quotients = sides[number].x, *divisors = quotients->operands[1];
  hlo_instr_t *other = sides[1 - number].x;
  hr_ints_t dims = hlo_attr_ints(divisors, HLO_ATTR_DIMENSIONS);
  dot_side_t divided[] = {sides[0], sides[1]};
  int64_t to[HLO_MAX_RANK];
  for (int64_t i = 0; i < dims.count; i++) to[i] = shared_dim(sides, number, dims.data[i]);
  hlo_instr_t *sums = dot_broadcast_operand(rewrite, divisors->operands[0], to, other->shape);
  divided[number].x = quotients->operands[0];
  divided[1 - number].x = hlo_build_binary(&rewrite->builder, HLO_DIVIDE, other, sums);
  return dot_build(rewrite, dot, divided, dot->shape);
}

/* What is divided instead of the quotients that are side `number` of a product. */
typedef enum division { NOTHING, RESULT, OTHER } division_t;

static division_t division_of(const hlo_instr_t *dot, const dot_side_t sides[2], int number) {
  const dot_side_t *side = &sides[number];
  const hlo_shape_t *shape = side->x->shape, *other = sides[1 - number].x->shape;
  if (dot->shape->dtype != shape->dtype || other->dtype != shape->dtype) return NOTHING;
  const hlo_instr_t *divisors = side->x->operands[1];
  int64_t count = hlo_shape_elements(shape);
  if (is_broadcast_without(divisors, side, CONTRACTING) && hlo_shape_elements(dot->shape) < count)
    return RESULT;
  bool is_less = hlo_shape_elements(other) < count;
  return is_broadcast_without(divisors, side, FREE) && is_less ? OTHER : NOTHING;
}

static bool is_quotient(const hlo_instr_t *x) {
  hr_dtype_t dtype = x->shape->dtype;
  return x->op == HLO_DIVIDE && (dtype == HR_F32 || dtype == HR_F64) &&
         is_softmax_numerator(x->operands[0], x->operands[1]);
}

/* Do only products read the quotients that can do without? Cost: linear in the computation. */
static bool are_spared(pass_rewrite_t *rewrite, const hlo_instr_t *quotients) {
  const hlo_computation_t *computation = rewrite->computation;
  uint32_t uses = pass_use_count(rewrite, quotients), found = 0;
  for (size_t i = 0; i < computation->instrs.count && uses > 1; i++) {
    hlo_instr_t *dot = computation->instrs.data[i];
    dot_side_t sides[2];
    if (dot->op != HLO_DOT || !dot_may_swap(dot)) continue;
    dot_sides_read(dot, sides);
    for (int s = 0; s < 2; s++) sides[s].x = pass_resolve(rewrite, sides[s].x);
    for (int s = 0; s < 2; s++)
      found += sides[s].x == quotients && sides[1 - s].x != quotients &&
               division_of(dot, sides, s) != NOTHING;
  }
  return uses == 1 || found == uses;
}

hlo_instr_t *simplify_softmax_dot(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  dot_side_t sides[2];
  if (instr->op != HLO_DOT || !dot_may_swap(instr)) return NULL;
  dot_sides_read(instr, sides);
  for (int s = 0; s < 2; s++) {
    if (!is_quotient(sides[s].x)) continue;
    division_t division = division_of(instr, sides, s);
    if (division == NOTHING || !are_spared(rewrite, sides[s].x)) continue;
    return (division == RESULT ? divide_result : divide_other)(rewrite, instr, sides, s);
  }
  return NULL;
}
