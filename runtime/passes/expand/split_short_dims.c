/* Large arrays with a short dimension that are computed from broadcasts of smaller arrays are
 * computed as one array for each index of that dimension:
 *
 *   d = subtract(broadcast(x), broadcast(y))   [n,m,3]       d0 = broadcast(x[:,0]) - ...   [n,m]
 *   r = reduce(d), dimensions={2}              [n,m]    ->   r = d0 + d1 + d2
 *   s = reduce(broadcast(r) * d), {1}          [n,3]         s = concatenate(reduce(r * d0), ...)
 *
 * The sum over the short dimension is elementwise code, which is fused into what reads it: the
 * distances of all pairs of points are never in memory. Terms are added in order. Cost: linear for
 * each index. */
#include "ops/query/gather_dims.h"
#include "passes/fuse/fuse_cost.h"
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

/* Most terms of a sum over the short dimension; and, as their code takes longer to make, of one of
 * many elements. */
#define MOST_TERMS 16
#define MOST_TERMS_OF_MANY 64
#define MANY_ELEMENTS (1 << 18)
#define MOST_PARTS 8 /* most arrays in place of one whose other dimensions are reduced */
#define LEAST_ELEMENTS 4096
#define LEAST_RATIO 8 /* elements of a broadcast per element of its operand */
#define MOST_DEPTH 64 /* instructions on a path to the broadcasts */

typedef enum split_state { SPLIT_UNKNOWN, SPLIT_FREE, SPLIT_COSTLY } split_state_t;

/* What is known about an array, for one of its dimensions. */
typedef struct split {
  int64_t dim;
  split_state_t state; /* cost of the parts, beside that of the whole */
  hlo_instr_t *turned; /* the array with the dimension as the first; NULL: not made */
  hlo_instr_t **parts; /* by index of the dimension; NULL: none is made */
} split_t;

typedef struct splitter {
  pass_rewrite_t *rewrite;
  HR_VEC(split_t) splits; /* by id */
} splitter_t;

/* The entry of an array, valid until the next one is added. NULL: out of memory. */
static split_t *split_of(splitter_t *s, const hlo_instr_t *x, int64_t dim) {
  hlo_builder_t *builder = &s->rewrite->builder;
  if (!builder->status) builder->status = HR_VEC_RESERVE(&s->splits, x->id + 1);
  if (builder->status) return NULL;
  while (s->splits.count <= x->id) s->splits.data[s->splits.count++] = (split_t){.dim = -1};
  split_t *split = &s->splits.data[x->id];
  if (split->dim != dim) *split = (split_t){.dim = dim};
  return split;
}

/* --- arrays that can be split --- */

static bool is_elementwise(const hlo_instr_t *x) {
  return hlo_op_is(x->op, OP_ELEMENTWISE) && x->operand_count > 0 && x->operand_count <= 3 &&
         !x->called_count;
}

/* The dimension of a broadcast's operand that becomes dimension `dim`; -1: none. */
static int64_t broadcast_from(const hlo_instr_t *broadcast, int64_t dim) {
  hr_ints_t dims = hlo_attr_ints(broadcast, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == dim) return i;
  return -1;
}

/* Is it joined from arrays of one index each? */
static bool joins_parts(const hlo_instr_t *x, int64_t dim) {
  return x->op == HLO_CONCATENATE && hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[0] == dim &&
         x->operand_count == x->shape->dims[dim];
}

static bool is_free(splitter_t *s, const hlo_instr_t *x, int64_t dim, int depth);

/* An expensive function is not computed once more for other users. */
static bool are_operands_free(splitter_t *s, const hlo_instr_t *x, int64_t dim, int depth) {
  if (!is_elementwise(x) || (x->extra && x->extra->control_count) || depth == MOST_DEPTH)
    return false;
  if (fuse_is_expensive(x) && pass_use_count(s->rewrite, x) > 1) return false;
  for (int k = 0; k < x->operand_count; k++) {
    const hlo_instr_t *operand = x->operands[k];
    if (!operand->shape->rank) continue;
    if (!hlo_shape_same_dims(operand->shape, x->shape) || !is_free(s, operand, dim, depth + 1))
      return false;
  }
  return true;
}

/* Does each part cost no more than its share of the whole? */
static bool is_free(splitter_t *s, const hlo_instr_t *x, int64_t dim, int depth) {
  split_t *split = split_of(s, x, dim);
  if (!split || split->state) return split && split->state == SPLIT_FREE;
  bool found = x->op == HLO_IOTA || joins_parts(x, dim);
  if (x->op == HLO_BROADCAST)
    found = broadcast_from(x, dim) < 0 ||
            fusion_count(x->operands[0]->shape) * LEAST_RATIO <= fusion_count(x->shape);
  else if (!found)
    found = are_operands_free(s, x, dim, depth);
  split = split_of(s, x, dim);
  if (split) split->state = found ? SPLIT_FREE : SPLIT_COSTLY;
  return found;
}

/* --- parts --- */

static const hlo_shape_t *shape_without(splitter_t *s, const hlo_shape_t *shape, int64_t dim) {
  int64_t dims[HLO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < shape->rank; d++)
    if (d != dim) dims[rank++] = shape->dims[d];
  return pass_shape(s->rewrite, shape->dtype, rank, dims);
}

/* A part of an array in memory. Elements of a part are neighbours once the last dimension is the
 * first. */
static hlo_instr_t *slice_of(splitter_t *s, hlo_instr_t *x, int64_t dim, int64_t index) {
  split_t *split = split_of(s, x, dim);
  if (!split || dim == 0 || dim < x->shape->rank - 1)
    return split ? pass_build_element_slice(s->rewrite, x, dim, index) : NULL;
  if (!split->turned) split->turned = pass_build_with_last_first(s->rewrite, x);
  return split->turned ? pass_build_element_slice(s->rewrite, split->turned, 0, index) : NULL;
}

static hlo_instr_t *part_of(splitter_t *s, hlo_instr_t *x, int64_t dim, int64_t index);

static hlo_instr_t *part_of_broadcast(splitter_t *s, hlo_instr_t *x, int64_t dim, int64_t index,
                                      const hlo_shape_t *shape) {
  hr_ints_t from = hlo_attr_ints(x, HLO_ATTR_DIMENSIONS);
  int64_t at = broadcast_from(x, dim), dims[HLO_MAX_RANK];
  int rank = 0;
  bool is_same = true;
  hlo_instr_t *operand = x->operands[0];
  if (at >= 0) operand = part_of(s, operand, at, index);
  for (int64_t i = 0; i < from.count; i++) {
    if (i == at) continue;
    dims[rank] = from.data[i] - (from.data[i] > dim);
    is_same &= dims[rank] == rank;
    rank++;
  }
  if (!operand || (is_same && rank == shape->rank)) return operand;
  return hlo_build_broadcast(&s->rewrite->builder, operand, shape, (hr_ints_t){dims, rank});
}

static hlo_instr_t *part_of_iota(splitter_t *s, const hlo_instr_t *x, int64_t dim, int64_t index,
                                 const hlo_shape_t *shape) {
  hlo_builder_t *builder = &s->rewrite->builder;
  int64_t along = hlo_attr_int(x, HLO_ATTR_IOTA_DIMENSION);
  if (along == dim)
    return pass_build_fill(s->rewrite, hlo_build_number(builder, (double)index, shape->dtype),
                           shape);
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, along - (along > dim));
  return hlo_build(builder, HLO_IOTA, shape, 0, NULL, 1, &attr, 0, NULL);
}

static hlo_instr_t *part_of_elementwise(splitter_t *s, const hlo_instr_t *x, int64_t dim,
                                        int64_t index, const hlo_shape_t *shape) {
  hlo_instr_t *parts[3];
  for (int k = 0; k < x->operand_count; k++) {
    hlo_instr_t *operand = x->operands[k];
    parts[k] = operand->shape->rank ? part_of(s, operand, dim, index) : operand;
    if (!parts[k]) return NULL;
  }
  return pass_build_like(s->rewrite, x, parts, shape);
}

static hlo_instr_t *build_part(splitter_t *s, hlo_instr_t *x, int64_t dim, int64_t index,
                               bool is_sunk) {
  const hlo_shape_t *shape = is_sunk ? shape_without(s, x->shape, dim) : NULL;
  if (!is_sunk) return slice_of(s, x, dim, index);
  if (!shape) return NULL;
  if (x->op == HLO_BROADCAST) return part_of_broadcast(s, x, dim, index, shape);
  if (x->op == HLO_IOTA) return part_of_iota(s, x, dim, index, shape);
  if (x->op == HLO_CONCATENATE)
    return hlo_build_reshape(&s->rewrite->builder, x->operands[index], shape);
  return part_of_elementwise(s, x, dim, index, shape);
}

/* The array at one index of a dimension, without that dimension. */
static hlo_instr_t *part_of(splitter_t *s, hlo_instr_t *x, int64_t dim, int64_t index) {
  hlo_builder_t *builder = &s->rewrite->builder;
  bool is_sunk = is_free(s, x, dim, 0);
  split_t *split = split_of(s, x, dim);
  if (split && !split->parts)
    builder->status = HR_NEW_ARRAY(&s->rewrite->scratch, x->shape->dims[dim], &split->parts);
  if (builder->status) return NULL;
  hlo_instr_t **parts = split->parts;
  if (!parts[index]) parts[index] = build_part(s, x, dim, index, is_sunk);
  return parts[index];
}

/* --- reductions of the short dimension --- */

/* Does it reduce large arrays, by one op with an identity? */
static bool reduces_large_array(const hlo_instr_t *reduce, hlo_opcode_t *out_op) {
  return pass_is_plain_reduce(reduce, out_op) &&
         fusion_count(reduce->operands[0]->shape) >= LEAST_ELEMENTS;
}

/* Narrow numbers are added in a wider type, and rounded once. */
static hlo_instr_t *widen(splitter_t *s, hlo_instr_t *x) {
  hr_dtype_t wide = x ? hr_dtype_table[x->shape->dtype].compute : HR_F32;
  return !x || wide == x->shape->dtype ? x : hlo_build_convert(&s->rewrite->builder, x, wide);
}

static hlo_instr_t *sum_of_parts(splitter_t *s, hlo_instr_t *reduce, hlo_opcode_t op, int64_t dim) {
  hlo_builder_t *builder = &s->rewrite->builder;
  hlo_instr_t *x = reduce->operands[0], *init = reduce->operands[1], *sum = NULL;
  for (int64_t i = 0; i < x->shape->dims[dim]; i++) {
    hlo_instr_t *part = part_of(s, x, dim, i);
    bool is_exact = part && (op != HLO_ADD || pass_never_minus_zero(part));
    if (!i && !(is_exact && pass_is_neutral(op, init)))
      sum = widen(s, pass_build_fill(s->rewrite, init, reduce->shape));
    part = widen(s, part);
    sum = sum && part ? hlo_build_binary(builder, op, sum, part) : part;
    if (!sum) return NULL;
  }
  return sum->shape->dtype == reduce->shape->dtype
             ? sum
             : hlo_build_convert(builder, sum, reduce->shape->dtype);
}

/* Does something else than the reduction, which reads x `uses` times, read what it sums? */
static bool is_read_elsewhere(const splitter_t *s, const hlo_instr_t *x, uint32_t uses, int depth) {
  if (!is_elementwise(x) || !depth) return false;
  if (pass_use_count(s->rewrite, x) > uses) return true;
  for (int k = 0; k < x->operand_count; k++) {
    uint32_t within = 0;
    for (int j = 0; j < x->operand_count; j++) within += x->operands[j] == x->operands[k];
    bool is_again = k > 0 && x->operands[k - 1] == x->operands[k];
    if (!is_again && is_read_elsewhere(s, x->operands[k], within, depth - 1)) return true;
  }
  return false;
}

/* Most terms that are written out. What is read elsewhere, too, is split only if that can be. */
static int64_t most_terms(const splitter_t *s, const hlo_instr_t *reduce) {
  enum { LEVELS = 8 };
  if (is_read_elsewhere(s, reduce->operands[0], 1, LEVELS)) return MOST_PARTS;
  return fusion_count(reduce->shape) >= MANY_ELEMENTS ? MOST_TERMS_OF_MANY : MOST_TERMS;
}

static hr_status_t visit_short_sum(splitter_t *s, hlo_instr_t *reduce, hlo_opcode_t op,
                                   bool *out_is_done) {
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  hlo_instr_t *x = reduce->operands[0];
  int64_t terms = dims.count == 1 ? x->shape->dims[dims.data[0]] : 0;
  *out_is_done = terms > 1 && terms <= MOST_TERMS_OF_MANY && x->op != HLO_BROADCAST &&
                 is_free(s, x, dims.data[0], 0) && terms <= most_terms(s, reduce);
  return *out_is_done ? pass_replace(s->rewrite, reduce, sum_of_parts(s, reduce, op, dims.data[0]))
                      : NULL;
}

/* --- reductions of other dimensions --- */

/* Does it depend on an array that a broadcast repeats along the dimension alone? */
static bool repeats_along(const splitter_t *s, const hlo_instr_t *x, int64_t dim, int depth) {
  if (x->op == HLO_BROADCAST)
    return fusion_count(x->operands[0]->shape) * x->shape->dims[dim] == fusion_count(x->shape) &&
           broadcast_from(x, dim) < 0;
  for (int k = 0; k < x->operand_count && is_elementwise(x) && depth; k++)
    if (repeats_along(s, x->operands[k], dim, depth - 1)) return true;
  return false;
}

/* The short dimension that a reduction keeps, if its arrays are better reduced one by one; -1:
 * none. */
static int64_t kept_dim(splitter_t *s, const hlo_instr_t *reduce) {
  enum { LEVELS = 8 };
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  const hlo_instr_t *x = reduce->operands[0];
  int64_t dim = x->shape->rank - 1;
  bool is_short = dim > 0 && dims.count && x->shape->dims[dim] > 1 &&
                  x->shape->dims[dim] <= MOST_PARTS && !op_dims_contain(dims, dim);
  return is_short && is_elementwise(x) && repeats_along(s, x, dim, LEVELS) && is_free(s, x, dim, 0)
             ? dim
             : -1;
}

/* One reduction for each index of the short dimension, which is the last one of the result. */
static hlo_instr_t *joined_reductions(splitter_t *s, hlo_instr_t *reduce, int64_t dim) {
  hlo_instr_t *x = reduce->operands[0], *results[MOST_PARTS];
  const hlo_shape_t *shape = shape_without(s, reduce->shape, reduce->shape->rank - 1);
  int count = (int)x->shape->dims[dim];
  for (int i = 0; i < count; i++) {
    hlo_instr_t *part = part_of(s, x, dim, i);
    if (!part || !shape) return NULL;
    results[i] =
        pass_build_like(s->rewrite, reduce, (hlo_instr_t *[]){part, reduce->operands[1]}, shape);
  }
  return pass_build_joined(s->rewrite, reduce->shape, reduce->shape->rank - 1, results);
}

/* --- the pass --- */

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  splitter_t *s = context;
  hlo_opcode_t op;
  bool is_done;
  s->rewrite = rewrite;
  if (!reduces_large_array(instr, &op)) return NULL;
  HR_TRY(visit_short_sum(s, instr, op, &is_done));
  if (is_done) return NULL;
  int64_t dim = kept_dim(s, instr);
  return dim < 0 ? hlo_builder_finish(&rewrite->builder)
                 : pass_replace(rewrite, instr, joined_reductions(s, instr, dim));
}

static hr_status_t split_in(hlo_computation_t *computation, bool *out_changed) {
  splitter_t s = {0};
  hr_status_t st = pass_rewrite_each(computation, visit, &s, out_changed);
  HR_VEC_FREE(&s.splits);
  return st;
}

hr_status_t pass_split_short_dims(hlo_module_t *module, bool *out_changed) {
  return pass_rewrite_unfused(module, split_in, out_changed);
}
