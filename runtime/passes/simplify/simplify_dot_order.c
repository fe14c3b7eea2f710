/* Transposes around products that change the order of free dimensions within one operand: the
 * smaller of operand and result is transposed.
 *
 *   transpose(dot(x, y))   ->   dot(transpose(x), y)   if x is at most half of the result
 *   dot(transpose(x), y)   ->   transpose(dot(x, y))   if the result is at most half of x
 *
 * Attention with grouped heads in einsum's order (scores of queries, groups) is such a product. The
 * free dimensions of each side stay together, those of the right side before or after those of the
 * left one. Exact, except that a product whose operands are swapped may add in another order. */
#include "passes/simplify/simplify_dots.h"

#define RATIO_MIN 2 /* least ratio of the sizes for which the transpose moves */

/* Free dimensions of a side, in order. */
typedef struct free_dims {
  int64_t dims[HLO_MAX_RANK];
  int count;
} free_dims_t;

static free_dims_t free_dims_of(const dot_side_t *side) {
  free_dims_t free = {.count = 0};
  for (int d = 0; d < side->x->shape->rank; d++)
    if (dot_dim_role(side, d) == FREE) free.dims[free.count++] = d;
  return free;
}

/* --- the transpose of a result ---------------------------------------------------------------- */

/* A group of dimensions of the transposed result: order[i] is the place, in the product, of its
 * dimension i relative to the first of the group. */
typedef struct group_order {
  int64_t order[HLO_MAX_RANK];
  bool moves;
} group_order_t;

/* False: some dimension of [at, at + count) is of another group. */
static bool read_group(hr_ints_t permutation, int at, int first, int count, group_order_t *out) {
  out->moves = false;
  for (int i = 0; i < count; i++) {
    out->order[i] = permutation.data[at + i] - first;
    if (out->order[i] < 0 || out->order[i] >= count) return false;
    out->moves |= out->order[i] != i;
  }
  return true;
}

/* The order of the side's dimensions in which its free ones have their places in the result, and
 * are together. */
static void order_side(const dot_side_t *side, const group_order_t *group, int64_t *order) {
  free_dims_t free = free_dims_of(side);
  int rank = side->x->shape->rank, count = 0;
  bool free_last = rank && dot_dim_role(side, rank - 1) == FREE;
  for (int64_t i = 0; i < side->batch.count; i++) order[count++] = side->batch.data[i];
  for (int i = 0; i < free.count && !free_last; i++) order[count++] = free.dims[group->order[i]];
  for (int d = 0; d < rank; d++)
    if (dot_dim_role(side, d) == CONTRACTING) order[count++] = d;
  for (int i = 0; i < free.count && free_last; i++) order[count++] = free.dims[group->order[i]];
}

/* A side under work. */
typedef struct ordered_side {
  dot_side_t side;
  group_order_t group;
  int64_t order[HLO_MAX_RANK], batch[HLO_MAX_RANK], contracting[HLO_MAX_RANK];
} ordered_side_t;

/* Elements that are moved if the side's free dimensions get their places. */
static int64_t moved_elements(pass_rewrite_t *rewrite, ordered_side_t *ordered) {
  const hlo_instr_t *x = ordered->side.x;
  if (!ordered->group.moves) return 0;
  order_side(&ordered->side, &ordered->group, ordered->order);
  hr_ints_t order = {ordered->order, x->shape->rank};
  return pass_transpose_is_free(rewrite, x, order) ? 0 : hlo_shape_elements(x->shape);
}

/* Gives the side its order, and the batch dimensions theirs. */
static void apply_order(pass_rewrite_t *rewrite, ordered_side_t *ordered,
                        const group_order_t *batch) {
  dot_side_t *side = &ordered->side;
  int rank = side->x->shape->rank;
  int64_t to[HLO_MAX_RANK];
  for (int d = 0; d < rank; d++) to[ordered->group.moves ? ordered->order[d] : d] = d;
  for (int64_t i = 0; i < side->batch.count; i++)
    ordered->batch[i] = to[side->batch.data[batch->order[i]]];
  for (int64_t i = 0; i < side->contracting.count; i++)
    ordered->contracting[i] = to[side->contracting.data[i]];
  side->batch.data = ordered->batch;
  side->contracting.data = ordered->contracting;
  if (ordered->group.moves)
    side->x = pass_build_transposed(rewrite, side->x, (hr_ints_t){ordered->order, rank});
}

static hlo_instr_t *transpose_operands(pass_rewrite_t *rewrite, hlo_instr_t *transpose) {
  hlo_instr_t *dot = transpose->operands[0];
  hr_ints_t permutation = hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS);
  ordered_side_t ordered[2];
  dot_side_t sides[2];
  group_order_t batch;
  int64_t moved = 0;
  dot_sides_read(dot, sides);
  int count = (int)sides[0].batch.count;
  int left = dot_free_count(&sides[0]), right = dot_free_count(&sides[1]);
  if (pass_use_count(rewrite, dot) > 1 || !read_group(permutation, 0, 0, count, &batch))
    return NULL;
  bool swaps = left && right && permutation.data[count] >= count + left;
  if ((swaps && !dot_may_swap(dot)) ||
      !read_group(permutation, swaps ? count + right : count, count, left, &ordered[0].group) ||
      !read_group(permutation, swaps ? count : count + left, count + left, right,
                  &ordered[1].group))
    return NULL;
  for (int s = 0; s < 2; s++) {
    ordered[s].side = sides[s];
    moved += moved_elements(rewrite, &ordered[s]);
  }
  if (moved * RATIO_MIN > hlo_shape_elements(dot->shape)) return NULL;
  for (int s = 0; s < 2; s++) apply_order(rewrite, &ordered[s], &batch);
  dot_side_t built[] = {ordered[swaps].side, ordered[!swaps].side};
  return dot_build(rewrite, dot, built, transpose->shape);
}

/* --- transposed operands ---------------------------------------------------------------------- */

/* Reads the operand of a transpose in place; `order`: the dimensions of the result in terms of
 * those of the product that does, whose dimension `first` is the side's first free one. */
static bool read_in_place(pass_rewrite_t *rewrite, const hlo_instr_t *dot, dot_side_t *side,
                          int first, int64_t mapped[2][HLO_MAX_RANK], int64_t *order) {
  hr_ints_t permutation = hlo_attr_ints(side->x, HLO_ATTR_DIMENSIONS);
  free_dims_t free = free_dims_of(side);
  if (side->x->op != HLO_TRANSPOSE || dot_makes_batch_innermost(side, permutation) ||
      pass_use_count(rewrite, side->x) > 1 ||
      hlo_shape_elements(dot->shape) * RATIO_MIN > hlo_shape_elements(side->x->shape))
    return false;
  for (int d = 0; d < dot->shape->rank; d++) order[d] = d;
  for (int i = 0; i < free.count; i++) {
    int before = 0;
    for (int k = 0; k < free.count; k++)
      before += permutation.data[free.dims[k]] < permutation.data[free.dims[i]];
    order[first + i] = first + before;
  }
  dot_side_map(side, permutation, mapped[0], mapped[1]);
  return true;
}

static hlo_instr_t *transpose_result(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  int64_t mapped[2][HLO_MAX_RANK], order[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  dot_side_t sides[2];
  dot_sides_read(dot, sides);
  int first = (int)sides[0].batch.count;
  if (!read_in_place(rewrite, dot, &sides[0], first, mapped, order) &&
      !read_in_place(rewrite, dot, &sides[1], first + dot_free_count(&sides[0]), mapped, order))
    return NULL;
  for (int d = 0; d < dot->shape->rank; d++) sizes[order[d]] = dot->shape->dims[d];
  const hlo_shape_t *shape = pass_shape(rewrite, dot->shape->dtype, dot->shape->rank, sizes);
  hlo_instr_t *product = dot_build(rewrite, dot, sides, shape);
  return product ? pass_build_transpose(rewrite, product, order) : NULL;
}

hlo_instr_t *simplify_dot_order(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op == HLO_TRANSPOSE && instr->operands[0]->op == HLO_DOT)
    return transpose_operands(rewrite, instr);
  return instr->op == HLO_DOT ? transpose_result(rewrite, instr) : NULL;
}
