/* Sums with arrays that are zero except for a part:
 *
 *   w - c * scatter-add(0, i, u)            ->   scatter-add(w, i, -c * u)      c > 0
 *   w + c * scatter-add(0, i, u)            ->   scatter-add(w, i, c * u)       c < 0
 *   g + scatter-add(0, i, u)                ->   scatter-add(g, i, u)           g another such sum
 *   add(pad(x, 0), pad(y, 0)), x beside y   ->   pad(concatenate(x + 0, y + 0), 0)
 *
 * The first two are a step of gradient descent on a table of which a batch reads some rows: only
 * these rows are accessed. The third is the gradient of a table that is read several times; a step
 * with it becomes one scatter after the other. The last is the gradient of an array whose parts are
 * read one by one, such as layers of stacked weights: a sum of n arrays, each mostly zeros, becomes
 * one copy. Elements without an update stay bitwise equal: x - 0 and x + -0 are x, and a sum that
 * starts at 0 is never -0. Elements with several updates may be rounded differently. x + 0 turns -0
 * into 0, as the sum does; it is omitted if x is never -0. */
#include <math.h>

#include "passes/simplify/simplify.h"

/* ---- gradient descent on some rows ---- */

#define SCATTERS_MAX 8 /* most scatters into one sum */

static bool is_scatter_add(const hlo_instr_t *x) {
  hlo_opcode_t op;
  return x->op == HLO_SCATTER && x->operand_count == 3 && pass_body_is_binary(x->called[0], &op) &&
         op == HLO_ADD && pass_is_plain_float(x->shape->dtype) &&
         hlo_shape_elements(x->operands[2]->shape) <= hlo_shape_elements(x->shape);
}

/* Is x a sum of rows in an array of zeros, by scatters of which only the last one is read outside?
 */
static bool is_sum_of_rows(pass_rewrite_t *rewrite, const hlo_instr_t *x) {
  for (int k = 0; k < SCATTERS_MAX && is_scatter_add(x); k++) {
    if (pass_is_number(x->operands[0], 0)) return true;
    x = x->operands[0];
    if (pass_use_count(rewrite, x) > 1) return false;
  }
  return false;
}

/* x, or the array that it reshapes, if nothing else reads it. */
static hlo_instr_t *match_rows(pass_rewrite_t *rewrite, hlo_instr_t *x) {
  if (pass_use_count(rewrite, x) > 1) return NULL;
  if (x->op == HLO_RESHAPE) return match_rows(rewrite, x->operands[0]);
  return is_sum_of_rows(rewrite, x) ? x : NULL;
}

/* Is x `scale` times a scatter that nothing else reads? */
static hlo_instr_t *match_scaled(pass_rewrite_t *rewrite, hlo_instr_t *x, double *out_scale) {
  hlo_instr_t *scatter = match_rows(rewrite, x);
  *out_scale = 1;
  if (x->op == HLO_RESHAPE && !scatter) return match_scaled(rewrite, x->operands[0], out_scale);
  if (pass_use_count(rewrite, x) > 1) return NULL;
  for (int k = 0; x->op == HLO_MULTIPLY && !scatter && k < 2; k++)
    if (pass_splat_float(x->operands[1 - k], out_scale))
      scatter = match_rows(rewrite, x->operands[k]);
  return scatter;
}

/* Adds the scaled updates of one scatter to the table. */
static hlo_instr_t *build_scatter(pass_rewrite_t *rewrite, hlo_instr_t *table,
                                  const hlo_instr_t *scatter, double scale) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t *rows = scatter->operands[2];
  if (scale != 1) {
    hlo_instr_t *factor = hlo_build_number_like(builder, scale, rows);
    rows = factor ? hlo_build_binary(builder, HLO_MULTIPLY, rows, factor) : NULL;
  }
  hlo_instr_t *operands[] = {table, scatter->operands[1], rows};
  return rows && table ? pass_build_like(rewrite, scatter, operands, scatter->shape) : NULL;
}

/* Adds the updates of all scatters behind `last`, the first one first. */
static hlo_instr_t *build_rows(pass_rewrite_t *rewrite, hlo_instr_t *table, const hlo_instr_t *last,
                               double scale) {
  const hlo_instr_t *scatters[SCATTERS_MAX];
  int count = 0;
  for (const hlo_instr_t *at = last; at->op == HLO_SCATTER; at = at->operands[0])
    scatters[count++] = at;
  hlo_instr_t *sum = hlo_build_reshape(&rewrite->builder, table, last->shape);
  while (count > 0) sum = build_scatter(rewrite, sum, scatters[--count], scale);
  return sum ? hlo_build_reshape(&rewrite->builder, sum, table->shape) : NULL;
}

static hlo_instr_t *update_rows(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  double scale;
  bool subtracts = instr->op == HLO_SUBTRACT;
  for (int k = 1; k >= (subtracts ? 1 : 0); k--) {
    hlo_instr_t *scatter = match_scaled(rewrite, instr->operands[k], &scale);
    hlo_instr_t *table = instr->operands[1 - k];
    if (!scatter || !isfinite(scale)) continue;
    bool keeps_zeros = (subtracts ? scale > 0 : scale < 0) || is_sum_of_rows(rewrite, table);
    if (keeps_zeros) return build_rows(rewrite, table, scatter, subtracts ? -scale : scale);
  }
  return NULL;
}

/* --- adjacent parts --------------------------------------------------------------------------- */

/* The only dimension that is padded, at its ends, with zeros; -1: x is another op. */
static int padded_dim(pass_rewrite_t *rewrite, const hlo_instr_t *x) {
  int dim = -1;
  if (x->op != HLO_PAD || !pass_is_number(x->operands[1], 0) || pass_use_count(rewrite, x) > 1)
    return -1;
  const hlo_padding_dim_t *dims = hlo_attr_padding(x)->dims;
  for (int d = 0; d < x->shape->rank; d++) {
    if (dims[d].low < 0 || dims[d].high < 0 || dims[d].interior) return -1;
    if (!dims[d].low && !dims[d].high) continue;
    if (dim >= 0) return -1;
    dim = d;
  }
  return dim;
}

static hlo_instr_t *without_minus_zero(pass_rewrite_t *rewrite, hlo_instr_t *x) {
  if (hr_dtype_is_integer(x->shape->dtype) || pass_never_minus_zero(x)) return x;
  hlo_instr_t *zero = hlo_build_number_like(&rewrite->builder, 0, x);
  return zero ? hlo_build_binary(&rewrite->builder, HLO_ADD, x, zero) : NULL;
}

static hlo_instr_t *build_joined(pass_rewrite_t *rewrite, hlo_instr_t *const *parts, int dim) {
  int64_t sizes[HLO_MAX_RANK], along = dim;
  const hlo_shape_t *first = parts[0]->shape;
  for (int d = 0; d < first->rank; d++) sizes[d] = first->dims[d];
  sizes[dim] += parts[1]->shape->dims[dim];
  hlo_attr_t attr = hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, 1, &along);
  const hlo_shape_t *shape = pass_shape(rewrite, first->dtype, first->rank, sizes);
  if (!shape) return NULL;
  return hlo_build(&rewrite->builder, HLO_CONCATENATE, shape, 2, parts, 1, &attr, 0, NULL);
}

static hlo_instr_t *join_parts(pass_rewrite_t *rewrite, hlo_instr_t *add) {
  hr_dtype_t dtype = add->shape->dtype;
  int dim = padded_dim(rewrite, add->operands[0]);
  if (dim < 0 || padded_dim(rewrite, add->operands[1]) != dim) return NULL;
  if (!pass_is_plain_float(dtype) && !hr_dtype_is_integer(dtype)) return NULL;
  for (int k = 0; k < 2; k++) {
    const hlo_instr_t *low = add->operands[k], *high = add->operands[1 - k];
    const hlo_padding_dim_t *before = hlo_attr_padding(low)->dims;
    const hlo_padding_dim_t *after = hlo_attr_padding(high)->dims;
    if (before[dim].low + low->operands[0]->shape->dims[dim] != after[dim].low) continue;
    hlo_instr_t *parts[] = {without_minus_zero(rewrite, low->operands[0]),
                            without_minus_zero(rewrite, high->operands[0])};
    hlo_instr_t *joined = parts[0] && parts[1] ? build_joined(rewrite, parts, dim) : NULL;
    if (!joined || (!before[dim].low && !after[dim].high)) return joined;
    hlo_padding_dim_t dims[HLO_MAX_RANK] = {0};
    dims[dim] = (hlo_padding_dim_t){.low = before[dim].low, .high = after[dim].high};
    return pass_build_pad(rewrite, joined, low->operands[1], dims);
  }
  return NULL;
}

hlo_instr_t *simplify_sparse(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op != HLO_ADD && instr->op != HLO_SUBTRACT) return NULL;
  hlo_instr_t *better = update_rows(rewrite, instr);
  return better || instr->op != HLO_ADD ? better : join_parts(rewrite, instr);
}
