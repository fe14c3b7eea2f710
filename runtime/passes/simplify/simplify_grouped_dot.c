/* Products with repeated matrices:
 *
 *   dot(x[b,h,k], reshape(broadcast(y[b,n,a,k] -> [b,n,a,g,k]) -> [b,n,h,k])), h = a * g
 *     ->   reshape(dot(reshape(x -> [b,a,g,k]), y))
 *
 * Attention with grouped heads repeats each head of keys and values for g heads of queries. The
 * repeated matrices are not made: the g vectors that meet the same matrix become its rows. Only for
 * vectors, that is, x without free dimensions: the result then needs no transposition. Exact. */
#include "ops/query/reshape_groups.h"
#include "passes/simplify/simplify_dots.h"

/* A batch dimension of a product that consists of `heads` matrices, each repeated `repeats` times.
 */
typedef struct repeat {
  hlo_instr_t *matrices; /* operand of the broadcast */
  int64_t heads, repeats;
} repeat_t;

/* Does the broadcast add only dimension `added`, and keep the order of the others? */
static bool adds_only(const hlo_instr_t *broadcast, int added) {
  hr_ints_t dims = hlo_attr_ints(broadcast, HLO_ATTR_DIMENSIONS);
  if (dims.count + 1 != broadcast->shape->rank) return false;
  for (int64_t d = 0; d < dims.count; d++)
    if (dims.data[d] != (d < added ? d : d + 1)) return false;
  return true;
}

/* The group of a reshape that makes dimension `dim` of its result. */
static bool find_group(const hlo_instr_t *reshape, int64_t dim, op_reshape_group_t *out_group) {
  *out_group = (op_reshape_group_t){0};
  while (op_reshape_next(reshape->operands[0]->shape, reshape->shape, out_group))
    if (out_group->to[0] <= dim && dim < out_group->to[1]) return true;
  return false;
}

/* Finds the repeated matrices after dimension `dim` of a product's operand. */
static bool find_repeat(const hlo_instr_t *operand, int64_t dim, repeat_t *out) {
  op_reshape_group_t group;
  if (operand->op != HLO_RESHAPE || operand->operands[0]->op != HLO_BROADCAST) return false;
  if (!find_group(operand, dim, &group)) return false;
  const hlo_instr_t *broadcast = operand->operands[0];
  const int64_t *sizes = broadcast->shape->dims;
  int added = group.from[1] - 1;
  if (group.to[1] - group.to[0] != 1 || group.from[1] - group.from[0] != 2) return false;
  if (!adds_only(broadcast, added)) return false;
  *out = (repeat_t){broadcast->operands[0], sizes[added - 1], sizes[added]};
  return out->heads * out->repeats == operand->shape->dims[dim];
}

/* The matrices without repetition, in the dimensions of the operand. */
static hlo_instr_t *build_matrices(pass_rewrite_t *rewrite, const dot_side_t *side, int64_t dim,
                                   const repeat_t *repeat) {
  int64_t sizes[HLO_MAX_RANK];
  const hlo_shape_t *shape = side->x->shape;
  for (int d = 0; d < shape->rank; d++) sizes[d] = d == dim ? repeat->heads : shape->dims[d];
  return hlo_build_reshape(&rewrite->builder, repeat->matrices,
                           pass_shape(rewrite, shape->dtype, shape->rank, sizes));
}

/* Numbers of dimensions after dimension `dim` was split in two. */
static hr_ints_t numbers_after_split(hr_ints_t dims, int64_t dim, int64_t *out) {
  for (int64_t i = 0; i < dims.count; i++)
    out[i] = dims.data[i] > dim ? dims.data[i] + 1 : dims.data[i];
  return (hr_ints_t){out, dims.count};
}

/* The vectors, with dimension `dim` split in heads and repeats; the latter is free. */
static hlo_instr_t *build_vectors(pass_rewrite_t *rewrite, const dot_side_t *side, int64_t dim,
                                  const repeat_t *repeat) {
  int64_t sizes[HLO_MAX_RANK];
  const hlo_shape_t *shape = side->x->shape;
  int rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    sizes[rank++] = d == dim ? repeat->heads : shape->dims[d];
    if (d == dim) sizes[rank++] = repeat->repeats;
  }
  return hlo_build_reshape(&rewrite->builder, side->x,
                           pass_shape(rewrite, shape->dtype, rank, sizes));
}

/* [batch, repeats, free dimensions of the matrices]. */
static const hlo_shape_t *result_shape(pass_rewrite_t *rewrite, const hlo_instr_t *dot,
                                       int64_t batch_count, const repeat_t *repeat) {
  int64_t sizes[HLO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < dot->shape->rank; d++) {
    bool is_repeated = d == batch_count - 1;
    sizes[rank++] = is_repeated ? repeat->heads : dot->shape->dims[d];
    if (is_repeated) sizes[rank++] = repeat->repeats;
  }
  return pass_shape(rewrite, dot->shape->dtype, rank, sizes);
}

/* Vectors become the left operand, so that the result's dimensions keep their order; operands with
 * precisions of their own stay where they are. */
static hlo_instr_t *group_vectors(pass_rewrite_t *rewrite, hlo_instr_t *dot, const dot_side_t *y,
                                  const dot_side_t *x, bool swaps) {
  int64_t last = y->batch.count - 1, batch[HLO_MAX_RANK], contracting[HLO_MAX_RANK];
  const hlo_attr_t *precision = hlo_attr_find(dot, HLO_ATTR_OPERAND_PRECISION);
  repeat_t repeat;
  if (last < 0 || dot_free_count(x) || dot->shape->rank == HLO_MAX_RANK) return NULL;
  if (swaps && precision) return NULL;
  if (!find_repeat(y->x, y->batch.data[last], &repeat)) return NULL;
  int64_t dim = x->batch.data[last];
  dot_side_t sides[] = {
      {build_vectors(rewrite, x, dim, &repeat), numbers_after_split(x->batch, dim, batch),
       numbers_after_split(x->contracting, dim, contracting)},
      {build_matrices(rewrite, y, y->batch.data[last], &repeat), y->batch, y->contracting}};
  hlo_instr_t *result =
      dot_build(rewrite, dot, sides, result_shape(rewrite, dot, last + 1, &repeat));
  return result ? hlo_build_reshape(&rewrite->builder, result, dot->shape) : NULL;
}

hlo_instr_t *simplify_grouped_dot(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  dot_side_t sides[2];
  if (instr->op != HLO_DOT) return NULL;
  dot_sides_read(instr, sides);
  hlo_instr_t *better = group_vectors(rewrite, instr, &sides[1], &sides[0], false);
  return better ? better : group_vectors(rewrite, instr, &sides[0], &sides[1], true);
}
