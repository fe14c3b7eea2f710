/* Slices move before what computes their operand, if nothing else reads it and at least half of it
 * is never read: the last token's logits, the class token of an encoder's last layer.
 *
 *   slice(add(x, y))      ->   add(slice(x), slice(y))
 *   slice(dot(x, y))      ->   dot(slice(x), slice(y))         batch and free dimensions
 *   slice(reduce(x))      ->   reduce(slice(x))                dimensions that are kept
 *   slice(reshape(x))     ->   reshape(slice(x))               dimensions that the reshape keeps
 *
 * Exact, but for the order in which kernels of another size add. */
#include "passes/simplify/simplify_dots.h"

#include "base/arith.h"

enum {
  COPY_PRODUCTS = 16 /* multiply-adds of a product that cost less than copying one element */
};

/* The ranges of all of x. */
static void whole_of(const hlo_shape_t *shape, hlo_slice_dim_t *dims) {
  for (int d = 0; d < shape->rank; d++) dims[d] = (hlo_slice_dim_t){0, shape->dims[d], 1};
}

static int64_t sliced_size(const hlo_slice_dim_t *dim) {
  return hr_div_ceil(dim->limit - dim->start, dim->stride);
}

/* The slice of x; x itself if it is all of it. */
static hlo_instr_t *build_part(pass_rewrite_t *rewrite, hlo_instr_t *x,
                               const hlo_slice_dim_t *dims) {
  bool whole = true;
  for (int d = 0; d < x->shape->rank; d++) whole &= sliced_size(&dims[d]) == x->shape->dims[d];
  return whole ? x : pass_build_slice(rewrite, x, dims);
}

static hlo_instr_t *sink_below_elementwise(pass_rewrite_t *rewrite, const hlo_instr_t *slice) {
  const hlo_instr_t *x = slice->operands[0];
  hlo_instr_t *parts[3];
  if (x->operand_count > 3) return NULL;
  for (int k = 0; k < x->operand_count; k++) {
    hlo_instr_t *operand = x->operands[k];
    bool scalar = operand->shape->rank == 0;
    parts[k] = scalar ? operand : build_part(rewrite, operand, hlo_attr_slice(slice)->dims);
    if (!parts[k]) return NULL;
  }
  const hlo_shape_t *shape =
      pass_shape(rewrite, x->shape->dtype, slice->shape->rank, slice->shape->dims);
  return shape ? pass_build_like(rewrite, x, parts, shape) : NULL;
}

/* Ranges of an operand of a dot; its free dimensions are those of the result from `at` on. */
static void dot_ranges(const dot_side_t *side, const hlo_slice_t *slice, int at,
                       hlo_slice_dim_t *dims) {
  whole_of(side->x->shape, dims);
  for (int64_t i = 0; i < side->batch.count; i++) dims[side->batch.data[i]] = slice->dims[i];
  for (int d = 0; d < side->x->shape->rank; d++)
    if (dot_dim_role(side, d) == FREE) dims[d] = slice->dims[at++];
}

/* Multiply-adds of a product per element of its result. */
static int64_t term_count(const dot_side_t *side) {
  int64_t terms = 1;
  for (int64_t i = 0; i < side->contracting.count; i++)
    terms *= side->x->shape->dims[side->contracting.data[i]];
  return terms;
}

static hlo_instr_t *sink_below_dot(pass_rewrite_t *rewrite, const hlo_instr_t *slice) {
  const hlo_instr_t *dot = slice->operands[0];
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  dot_side_t sides[2], parts[2];
  dot_sides_read(dot, sides);
  int64_t saved =
      (hlo_shape_elements(dot->shape) - hlo_shape_elements(slice->shape)) * term_count(&sides[0]);
  int at = (int)sides[0].batch.count;
  for (int s = 0; s < 2; s++) {
    parts[s] = sides[s];
    dot_ranges(&sides[s], hlo_attr_slice(slice), at, dims);
    parts[s].x = build_part(rewrite, sides[s].x, dims);
    at += dot_free_count(&sides[s]);
    if (!parts[s].x) return NULL;
    if (parts[s].x != sides[s].x && saved < COPY_PRODUCTS * hlo_shape_elements(parts[s].x->shape))
      return NULL;
  }
  return dot_build(rewrite, dot, parts, slice->shape);
}

static hlo_instr_t *sink_below_reduce(pass_rewrite_t *rewrite, const hlo_instr_t *slice) {
  const hlo_instr_t *reduce = slice->operands[0];
  hr_ints_t reduced = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  hlo_instr_t *x = reduce->operands[0];
  if (reduce->operand_count != 2) return NULL;
  for (int d = 0, at = 0; d < x->shape->rank; d++) {
    bool kept = true;
    for (int64_t i = 0; i < reduced.count; i++) kept &= reduced.data[i] != d;
    dims[d] = (hlo_slice_dim_t){0, x->shape->dims[d], 1};
    if (kept) dims[d] = hlo_attr_slice(slice)->dims[at++];
  }
  hlo_instr_t *part = build_part(rewrite, x, dims);
  if (!part) return NULL;
  return pass_build_like(rewrite, reduce, (hlo_instr_t *[]){part, reduce->operands[1]},
                         slice->shape);
}

/* The dimension of `before` that has the same size and as many elements before it as dimension `d`
 * of `after`; -1: there is none. */
static int same_dim(const hlo_shape_t *before, const hlo_shape_t *after, int d) {
  int64_t wanted = 1, elements = 1;
  for (int i = 0; i < d; i++) wanted *= after->dims[i];
  for (int i = 0; i < before->rank; elements *= before->dims[i++])
    if (elements == wanted && before->dims[i] == after->dims[d]) return i;
  return -1;
}

static hlo_instr_t *sink_below_reshape(pass_rewrite_t *rewrite, const hlo_instr_t *slice) {
  const hlo_instr_t *reshape = slice->operands[0];
  hlo_instr_t *x = reshape->operands[0];
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  whole_of(x->shape, dims);
  for (int d = 0; d < slice->shape->rank; d++) {
    if (slice->shape->dims[d] == reshape->shape->dims[d]) continue;
    int at = same_dim(x->shape, reshape->shape, d);
    if (at < 0) return NULL;
    dims[at] = hlo_attr_slice(slice)->dims[d];
  }
  hlo_instr_t *part = pass_build_slice(rewrite, x, dims);
  return part ? hlo_build_reshape(&rewrite->builder, part, slice->shape) : NULL;
}

hlo_instr_t *simplify_slice_sink(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op != HLO_SLICE) return NULL;
  const hlo_instr_t *x = instr->operands[0];
  int64_t read = hlo_shape_elements(instr->shape);
  if (!read || 2 * read > hlo_shape_elements(x->shape) || pass_use_count(rewrite, x) > 1)
    return NULL;
  if (hlo_op_is(x->op, OP_ELEMENTWISE)) return sink_below_elementwise(rewrite, instr);
  if (x->op == HLO_DOT) return sink_below_dot(rewrite, instr);
  if (x->op == HLO_REDUCE) return sink_below_reduce(rewrite, instr);
  return x->op == HLO_RESHAPE ? sink_below_reshape(rewrite, instr) : NULL;
}
