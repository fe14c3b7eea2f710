/* Gathers and scatters along one dimension by indices that no parameter determines, such as those
 * of an image that is enlarged:
 *
 *   gather(x, {a, a + s, a + 2 s, ...})    ->   slice(x), reversed for s < 0
 *   gather(x, {0, 0, 1, 1, 2, 2, ...})     ->   reshape(broadcast(x))
 *   gather(x, {3, 0, 1, 2})                ->   concatenate(slice(x), slice(x))
 *   scatter(0, {0, 0, 1, 1, ...}, u, add)  ->   reduce(reshape(u)), padded
 *
 * Slices and broadcasts are part of fusions, and sums need no index. Sums may be rounded in another
 * order. */
#include "base/arith.h"
#include "ops/query/gather_dims.h"
#include "passes/lib/pass_evaluate.h"
#include "passes/simplify/simplify.h"

enum {
  MOST_INDICES = 65536, /* most indices that are evaluated */
  MOST_STEPS = 96,      /* most ops that are evaluated for them */
  MOST_OPERANDS = 3,
  MOST_RUNS = 4 /* most slices that take the place of a gather */
};

/* --- evaluation ------------------------------------------------------------------------------- */

/* The value of an instruction that depends on constants only. NULL: it depends on more, or takes
 * too long. The caller releases it. */
static hlo_value_t *evaluate(pass_rewrite_t *rewrite, const hlo_instr_t *instr, int *steps_left) {
  hlo_value_t *in[MOST_OPERANDS] = {NULL}, *result = NULL;
  int known = 0;
  if (instr->op == HLO_CONSTANT && instr->literal) return hlo_value_retain(instr->literal);
  if (--*steps_left < 0 || instr->operand_count > MOST_OPERANDS || !pass_can_evaluate(instr) ||
      hlo_shape_elements(instr->shape) > MOST_INDICES)
    return NULL;
  while (known < instr->operand_count &&
         (in[known] = evaluate(rewrite, instr->operands[known], steps_left)))
    known++;
  if (known == instr->operand_count && !rewrite->builder.status)
    rewrite->builder.status = pass_evaluate(instr, in, &result);
  for (int k = 0; k < known; k++) hlo_value_release(in[k]);
  return result;
}

/* Indices start + stride * (i / repeat), of which `count` differ. */
typedef struct progression {
  int64_t start, stride, count, repeat;
} progression_t;

static int64_t clamped(const hlo_value_t *indices, int64_t i, int64_t size) {
  int64_t at = hlo_value_int_at(indices, i);
  return at < 0 ? 0 : hr_min(at, size - 1);
}

/* False: the indices are no progression, or, unless `clamps` is set, outside of [0, size). */
static bool fit(const hlo_value_t *indices, int64_t size, bool clamps, progression_t *p) {
  int64_t n = indices->count, repeat = 1;
  if (n < 2) return false;
  for (int64_t i = 0; i < n && !clamps; i++)
    if (hlo_value_int_at(indices, i) != clamped(indices, i, size)) return false;
  *p = (progression_t){.start = clamped(indices, 0, size), .stride = 1};
  while (repeat < n && clamped(indices, repeat, size) == p->start) repeat++;
  p->repeat = repeat;
  p->count = n / repeat;
  if (p->count > 1) p->stride = clamped(indices, repeat, size) - p->start;
  for (int64_t i = 0; i < n; i++)
    if (clamped(indices, i, size) != p->start + i / repeat * p->stride) return false;
  return n % repeat == 0;
}

static bool find_progression(pass_rewrite_t *rewrite, const hlo_instr_t *indices, int64_t size,
                             bool clamps, progression_t *p) {
  int steps_left = MOST_STEPS;
  if (!hr_dtype_is_integer(indices->shape->dtype) || size < 1) return false;
  hlo_value_t *value = evaluate(rewrite, indices, &steps_left);
  bool fits = value && fit(value, size, clamps, p);
  hlo_value_release(value);
  return fits;
}

typedef struct runs {
  int count;
  int64_t from[MOST_RUNS], to[MOST_RUNS];
} runs_t;

/* Runs of successive indices; false: there are too many. */
static bool split_into_runs(const hlo_value_t *indices, int64_t size, runs_t *runs) {
  runs->count = 0;
  for (int64_t i = 0; i < indices->count; i++) {
    int64_t at = clamped(indices, i, size);
    if (runs->count && at == runs->to[runs->count - 1]) {
      runs->to[runs->count - 1]++;
      continue;
    }
    if (runs->count == MOST_RUNS) return false;
    runs->from[runs->count] = at;
    runs->to[runs->count++] = at + 1;
  }
  return runs->count > 1;
}

static bool find_runs(pass_rewrite_t *rewrite, const hlo_instr_t *indices, int64_t size,
                      runs_t *runs) {
  int steps_left = MOST_STEPS;
  hlo_value_t *value = evaluate(rewrite, indices, &steps_left);
  bool fits = value && split_into_runs(value, size, runs);
  hlo_value_release(value);
  return fits;
}

/* --- shapes ----------------------------------------------------------------------------------- */

/* The dimension along which `dims` indexes whole slices of x, at the same place in the other array;
 * -1: another form. */
static int indexed_dim(const op_gather_dims_t *dims, const hlo_shape_t *x,
                       const hlo_shape_t *other) {
  if (dims->start_map.count != 1 || dims->dropped.count != 1 || dims->batching.count ||
      dims->dropped.data[0] != dims->start_map.data[0] || other->rank != x->rank)
    return -1;
  int d = (int)dims->start_map.data[0];
  for (int k = 0; k < x->rank; k++)
    if (k != d && (!op_dims_contain(dims->window, k) || other->dims[k] != x->dims[k])) return -1;
  return op_dims_contain(dims->window, d) ? -1 : d;
}

/* x's shape with dimension d as `count` times `repeat` dimensions. */
static const hlo_shape_t *parted_shape(pass_rewrite_t *rewrite, const hlo_shape_t *x, int d,
                                       const progression_t *p) {
  int64_t sizes[HLO_MAX_RANK];
  if (x->rank == HLO_MAX_RANK) return NULL;
  for (int k = 0; k <= x->rank; k++) sizes[k] = x->dims[k > d ? k - 1 : k];
  sizes[d] = p->count;
  sizes[d + 1] = p->repeat;
  return pass_shape(rewrite, x->dtype, x->rank + 1, sizes);
}

static hlo_instr_t *reversed(pass_rewrite_t *rewrite, hlo_instr_t *x, int64_t d) {
  hlo_attr_t dims = hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, 1, &d);
  return hlo_build(&rewrite->builder, HLO_REVERSE, x->shape, 1, &x, 1, &dims, 0, NULL);
}

/* --- gathers ---------------------------------------------------------------------------------- */

static hlo_instr_t *build_repeated(pass_rewrite_t *rewrite, hlo_instr_t *part, int d,
                                   const progression_t *p, const hlo_shape_t *shape) {
  int64_t dims[HLO_MAX_RANK];
  const hlo_shape_t *parted = parted_shape(rewrite, shape, d, p);
  if (!parted) return NULL;
  for (int k = 0; k < shape->rank; k++) dims[k] = k > d ? k + 1 : k;
  hlo_instr_t *all =
      hlo_build_broadcast(&rewrite->builder, part, parted, (hr_ints_t){dims, shape->rank});
  return all ? hlo_build_reshape(&rewrite->builder, all, shape) : NULL;
}

static hlo_instr_t *build_runs(pass_rewrite_t *rewrite, const hlo_instr_t *gather, int d) {
  hlo_instr_t *x = gather->operands[0], *parts[MOST_RUNS];
  hlo_slice_dim_t slices[HLO_MAX_RANK];
  int64_t along = d;
  runs_t runs;
  if (!find_runs(rewrite, gather->operands[1], x->shape->dims[d], &runs)) return NULL;
  for (int k = 0; k < x->shape->rank; k++) slices[k] = (hlo_slice_dim_t){0, x->shape->dims[k], 1};
  for (int k = 0; k < runs.count; k++) {
    slices[d] = (hlo_slice_dim_t){runs.from[k], runs.to[k], 1};
    if (!(parts[k] = pass_build_slice(rewrite, x, slices))) return NULL;
  }
  hlo_attr_t attr = hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, 1, &along);
  return hlo_build(&rewrite->builder, HLO_CONCATENATE, gather->shape, runs.count, parts, 1, &attr,
                   0, NULL);
}

static hlo_instr_t *simplify_known_slices(pass_rewrite_t *rewrite, hlo_instr_t *gather) {
  hlo_instr_t *x = gather->operands[0];
  op_gather_dims_t dims = op_gather_dims(gather);
  int d = indexed_dim(&dims, x->shape, gather->shape);
  progression_t p;
  hlo_slice_dim_t slices[HLO_MAX_RANK];
  if (d < 0 || x->shape->dims[d] < 1 || !hr_dtype_is_integer(gather->operands[1]->shape->dtype))
    return NULL;
  if (!find_progression(rewrite, gather->operands[1], x->shape->dims[d], true, &p))
    return build_runs(rewrite, gather, d);
  int64_t last = p.start + (p.count - 1) * p.stride;
  for (int k = 0; k < x->shape->rank; k++) slices[k] = (hlo_slice_dim_t){0, x->shape->dims[k], 1};
  slices[d] = p.stride > 0 ? (hlo_slice_dim_t){p.start, last + 1, p.stride}
                           : (hlo_slice_dim_t){last, p.start + 1, -p.stride};
  hlo_instr_t *part = pass_build_slice(rewrite, x, slices);
  if (part && p.stride < 0) part = reversed(rewrite, part, d);
  return part && p.repeat > 1 ? build_repeated(rewrite, part, d, &p, gather->shape) : part;
}

/* --- scatters --------------------------------------------------------------------------------- */

/* Sums of the updates of each index. */
static hlo_instr_t *build_sums(pass_rewrite_t *rewrite, hlo_instr_t *updates, int d,
                               const progression_t *p) {
  const hlo_shape_t *parted = parted_shape(rewrite, updates->shape, d, p);
  int64_t repeated = d + 1;
  if (p->repeat == 1) return updates;
  hlo_instr_t *parts = parted ? hlo_build_reshape(&rewrite->builder, updates, parted) : NULL;
  return parts ? pass_build_sum(rewrite, parts, 1, &repeated) : NULL;
}

/* The sums at their places among zeros. */
static hlo_instr_t *build_placed(pass_rewrite_t *rewrite, hlo_instr_t *sums, int d,
                                 const progression_t *p, int64_t size) {
  hlo_padding_dim_t edges[HLO_MAX_RANK] = {{0}};
  int64_t last = p->start + (p->count - 1) * p->stride, first = hr_min(p->start, last);
  edges[d].low = first;
  edges[d].interior = (p->stride < 0 ? -p->stride : p->stride) - 1;
  edges[d].high = size - 1 - (p->stride < 0 ? p->start : last);
  hlo_instr_t *zero = hlo_build_number(&rewrite->builder, 0, sums->shape->dtype);
  return pass_build_pad(rewrite, sums, zero, edges);
}

static hlo_instr_t *simplify_known_sums(pass_rewrite_t *rewrite, hlo_instr_t *scatter) {
  hlo_opcode_t op;
  progression_t p;
  if (scatter->operand_count != 3 || !pass_body_is_binary(scatter->called[0], &op) || op != HLO_ADD)
    return NULL;
  hlo_instr_t *x = scatter->operands[0], *updates = scatter->operands[2];
  op_gather_dims_t dims = op_scatter_dims(scatter);
  int d = indexed_dim(&dims, x->shape, updates->shape);
  bool is_zero = pass_is_number(x, 0);
  if (d < 0 || !find_progression(rewrite, scatter->operands[1], x->shape->dims[d], false, &p))
    return NULL;
  bool is_whole = p.count == x->shape->dims[d];
  if (!is_zero && !is_whole) return NULL;
  hlo_instr_t *sums = build_sums(rewrite, updates, d, &p);
  if (sums && p.stride < 0) sums = reversed(rewrite, sums, d);
  if (sums && !is_whole) sums = build_placed(rewrite, sums, d, &p, x->shape->dims[d]);
  return sums && !is_zero ? hlo_build_binary(&rewrite->builder, HLO_ADD, x, sums) : sums;
}

hlo_instr_t *simplify_known_gather(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op == HLO_GATHER) return simplify_known_slices(rewrite, instr);
  return instr->op == HLO_SCATTER ? simplify_known_sums(rewrite, instr) : NULL;
}
