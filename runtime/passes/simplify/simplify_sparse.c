/* Sums with arrays that are zero except for a part:
 *
 *   w - c * scatter-add(0, i, u)            ->   scatter-add(w, i, -c * u)      c > 0
 *   w + c * scatter-add(0, i, u)            ->   scatter-add(w, i, c * u)       c < 0
 *   add(pad(x, 0), pad(y, 0)), x beside y   ->   pad(concatenate(x + 0, y + 0), 0)
 *
 * The first two are a step of gradient descent on a table of which a batch reads some rows: only
 * these rows are accessed. The gradient of a table that is read several times is a sum of scatters,
 * which follow one another. The last is the gradient of an array whose parts are read one by one,
 * such as layers of stacked weights: a sum of n arrays, each mostly zeros, becomes one copy.
 * Elements without an update stay bitwise equal: x - 0 and x + -0 are x. Elements with several
 * updates may be rounded differently. x + 0 turns -0 into 0, as the sum does; it is omitted if x is
 * never -0. */
#include <math.h>

#include "passes/simplify/simplify.h"

/* ---- gradient descent on some rows ---- */

#define SCATTERS_MAX 8 /* most scatters of a sum */
#define LOOKS_MAX 64   /* most instructions that are looked at for them */

/* Scatters into zeros whose sum is the gradient of a table. */
typedef struct row_sums {
  int count, looks;
  const hlo_instr_t *scatters[SCATTERS_MAX];
} row_sums_t;

static bool is_sum_of_rows(const hlo_instr_t *x) {
  hlo_opcode_t op;
  return x->op == HLO_SCATTER && x->operand_count == 3 && pass_is_number(x->operands[0], 0) &&
         pass_body_is_binary(x->called[0], &op) && op == HLO_ADD &&
         pass_is_plain_float(x->shape->dtype) &&
         hlo_shape_elements(x->operands[2]->shape) <= hlo_shape_elements(x->shape);
}

/* Is x a sum of scatters, or a reshape of one, that nothing else reads? Adds them to *sums. */
static bool match_rows(pass_rewrite_t *rewrite, const hlo_instr_t *x, row_sums_t *sums) {
  if (pass_use_count(rewrite, x) > 1 || sums->looks++ == LOOKS_MAX) return false;
  if (x->op == HLO_RESHAPE) return match_rows(rewrite, x->operands[0], sums);
  if (x->op == HLO_ADD && sums->count < SCATTERS_MAX)
    return match_rows(rewrite, x->operands[0], sums) && match_rows(rewrite, x->operands[1], sums);
  if (!is_sum_of_rows(x) || sums->count == SCATTERS_MAX) return false;
  sums->scatters[sums->count++] = x;
  return true;
}

/* Is x `scale` times such a sum? */
static bool match_scaled(pass_rewrite_t *rewrite, const hlo_instr_t *x, row_sums_t *out_sums,
                         double *out_scale) {
  *out_sums = (row_sums_t){0};
  *out_scale = 1;
  if (match_rows(rewrite, x, out_sums)) return true;
  if (pass_use_count(rewrite, x) > 1) return false;
  if (x->op == HLO_RESHAPE) return match_scaled(rewrite, x->operands[0], out_sums, out_scale);
  for (int k = 0; x->op == HLO_MULTIPLY && k < 2; k++) {
    *out_sums = (row_sums_t){0};
    if (pass_splat_float(x->operands[1 - k], out_scale) &&
        match_rows(rewrite, x->operands[k], out_sums))
      return true;
  }
  return false;
}

/* Adds the scaled updates of one scatter to the table. */
static hlo_instr_t *build_scatter(pass_rewrite_t *rewrite, hlo_instr_t *table,
                                  const hlo_instr_t *scatter, double scale) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t *updates = scatter->operands[2];
  hlo_instr_t *factor = hlo_build_number_like(builder, scale, updates);
  hlo_instr_t *rows = factor ? hlo_build_binary(builder, HLO_MULTIPLY, updates, factor) : NULL;
  hlo_instr_t *operands[] = {hlo_build_reshape(builder, table, scatter->shape),
                             scatter->operands[1], rows};
  if (!rows || !operands[0]) return NULL;
  return pass_build_like(rewrite, scatter, operands, scatter->shape);
}

static hlo_instr_t *build_rows(pass_rewrite_t *rewrite, hlo_instr_t *table, const row_sums_t *sums,
                               double scale) {
  hlo_instr_t *sum = table;
  for (int k = 0; k < sums->count && sum; k++)
    sum = build_scatter(rewrite, sum, sums->scatters[k], scale);
  return sum ? hlo_build_reshape(&rewrite->builder, sum, table->shape) : NULL;
}

static hlo_instr_t *update_rows(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  row_sums_t sums;
  double scale;
  bool subtracts = instr->op == HLO_SUBTRACT;
  for (int k = 1; k >= (subtracts ? 1 : 0); k--) {
    if (!match_scaled(rewrite, instr->operands[k], &sums, &scale)) continue;
    if (!isfinite(scale) || (subtracts ? scale <= 0 : scale >= 0)) continue;
    return build_rows(rewrite, instr->operands[1 - k], &sums, subtracts ? -scale : scale);
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
