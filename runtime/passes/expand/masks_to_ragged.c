/* Products of masked copies, one per group of rows, become ragged products:
 *
 *   m = starts <= row and row < ends                    [g,r,k], starts = 0 followed by ends
 *   dot(select(m, x, 0), w)   over g and k         ->   ragged-dot(x, w, ends - starts)
 *   dot(select(m, x, 0), select(m, y, 0))  over r  ->   ragged-dot(x, y, ends - starts)
 *
 * JAX emits lax.ragged_dot and its gradients in this form on CPUs. The masked form does the work of
 * all groups for every row, and keeps copies of x. It also multiplies zeros by w, which gives NaN
 * where w is not finite; the first form's product is therefore marked as masked, and its kernels do
 * the same. */
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

/* A masked operand of a product: rows [starts, ends) of x for each group, and zeros elsewhere. */
typedef struct masked {
  hlo_instr_t *starts, *ends;
  int64_t row;           /* dimension of the rows in [g, ., .] */
  hlo_instr_t *x;        /* [r,k] or [k,r], or a scalar for all elements */
  const hlo_shape_t *of; /* [g, ., .] */
} masked_t;

static bool has_dims(hr_ints_t dims, int64_t count, int64_t first, int64_t second) {
  return dims.count == count && dims.data[0] == first && (count == 1 || dims.data[1] == second);
}

/* Dimension along which x is an iota; -1: x is no iota. */
static int64_t counted_dim(const hlo_instr_t *x) {
  if (x->op == HLO_IOTA) return hlo_attr_int(x, HLO_ATTR_IOTA_DIMENSION);
  if (x->op != HLO_BROADCAST || x->operands[0]->op != HLO_IOTA || x->operands[0]->shape->rank != 1)
    return -1;
  return hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[0];
}

/* The array with one number per group. */
static hlo_instr_t *list_of_groups(const hlo_instr_t *x) {
  bool spreads = x->op == HLO_BROADCAST && x->operands[0]->shape->rank == 1 &&
                 has_dims(hlo_attr_ints(x, HLO_ATTR_DIMENSIONS), 1, 0, 0);
  return spreads ? x->operands[0] : NULL;
}

/* `less`: the operand that is the smaller one in a comparison with that direction or its mirror. */
static bool match_bound(const hlo_instr_t *compare, bool is_start, masked_t *out) {
  if (compare->op != HLO_COMPARE) return false;
  int64_t direction = hlo_attr_enum(compare, HLO_ATTR_DIRECTION);
  int64_t forward = is_start ? HLO_DIRECTION_LE : HLO_DIRECTION_LT;
  int64_t mirrored = is_start ? HLO_DIRECTION_GE : HLO_DIRECTION_GT;
  if (direction != forward && direction != mirrored) return false;
  int bound = is_start == (direction == forward) ? 0 : 1;
  hlo_instr_t *list = list_of_groups(compare->operands[bound]);
  int64_t row = counted_dim(compare->operands[1 - bound]);
  if (!list || row < 1 || (out->row && out->row != row)) return false;
  out->row = row;
  *(is_start ? &out->starts : &out->ends) = list;
  return true;
}

/* Are `starts` 0 followed by all `ends` but the last? */
static bool follow_each_other(const hlo_instr_t *starts, const hlo_instr_t *ends) {
  if (starts->op != HLO_CONCATENATE || starts->operand_count != 2) return false;
  const hlo_instr_t *rest = starts->operands[1];
  return pass_is_number(starts->operands[0], 0) && starts->operands[0]->shape->dims[0] == 1 &&
         rest->op == HLO_SLICE && rest->operands[0] == ends &&
         hlo_attr_slice(rest)->dims[0].start == 0 && hlo_attr_slice(rest)->dims[0].stride == 1;
}

/* The value of x that all groups share: an array without the group dimension, or a scalar. */
static hlo_instr_t *value_of_groups(hlo_instr_t *x) {
  if (x->op != HLO_BROADCAST) return NULL;
  hr_ints_t dims = hlo_attr_ints(x, HLO_ATTR_DIMENSIONS);
  return !dims.count || has_dims(dims, 2, 1, 2) ? x->operands[0] : NULL;
}

static bool match_masked(const hlo_instr_t *select, masked_t *out) {
  *out = (masked_t){.of = select->shape};
  if (select->op != HLO_SELECT || select->shape->rank != 3 || hlo_shape_is_dynamic(select->shape))
    return false;
  const hlo_instr_t *both = select->operands[0];
  if (both->op != HLO_AND || !pass_is_number(select->operands[2], 0)) return false;
  for (int k = 0; k < 2; k++) {
    bool found =
        match_bound(both->operands[k], true, out) && match_bound(both->operands[1 - k], false, out);
    if (!found) continue;
    out->x = value_of_groups(select->operands[1]);
    return out->x && hr_dtype_is_integer(out->ends->shape->dtype) &&
           follow_each_other(out->starts, out->ends);
  }
  return false;
}

/* --- the ragged products ---------------------------------------------------------------------- */

/* x without the group dimension, as an array. */
static hlo_instr_t *build_value(pass_rewrite_t *rewrite, const masked_t *side) {
  if (side->x->shape->rank == 2) return side->x;
  const hlo_shape_t *shape = pass_shape(rewrite, side->of->dtype, 2, side->of->dims + 1);
  return shape ? pass_build_fill(rewrite, side->x, shape) : NULL;
}

static hlo_instr_t *build_ragged(pass_rewrite_t *rewrite, const hlo_instr_t *dot,
                                 hlo_instr_t *const operands[2], const masked_t *mask,
                                 const int64_t *contracting, int64_t group_dim) {
  hlo_builder_t *builder = &rewrite->builder;
  int64_t row = mask->row - 1;
  hlo_attr_t attrs[] = {
      hlo_attr_of_ints(builder, HLO_ATTR_LHS_CONTRACTING_DIMS, 1, &contracting[0]),
      hlo_attr_of_ints(builder, HLO_ATTR_RHS_CONTRACTING_DIMS, 1, &contracting[1]),
      hlo_attr_of_ints(builder, HLO_ATTR_LHS_RAGGED_DIMS, 1, &row),
      hlo_attr_of_ints(builder, HLO_ATTR_RHS_GROUP_DIMS, 1, &group_dim),
      hlo_attr_of_bool(HLO_ATTR_MASKED, true)};
  if (!operands[0] || !operands[1]) return NULL;
  hlo_instr_t *sizes = hlo_build_binary(builder, HLO_SUBTRACT, mask->ends, mask->starts);
  hlo_instr_t *all[] = {operands[0], operands[1], sizes};
  if (!sizes) return NULL;
  return hlo_build(builder, HLO_RAGGED_DOT, dot->shape, 3, all, group_dim < 0 ? 3 : 5, attrs, 0,
                   NULL);
}

/* Contracts groups and terms; rows are free. */
static hlo_instr_t *by_free_rows(pass_rewrite_t *rewrite, const hlo_instr_t *dot,
                                 const masked_t *left) {
  hr_ints_t lhs = hlo_attr_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  hr_ints_t rhs = hlo_attr_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS);
  int64_t term = 3 - left->row;
  if (hlo_attr_ints(dot, HLO_ATTR_LHS_BATCH_DIMS).count || lhs.count != 2) return NULL;
  int at = lhs.data[0] == 0 ? 0 : 1;
  if (lhs.data[at] != 0 || lhs.data[1 - at] != term || dot->operands[1]->shape->rank != 3)
    return NULL;
  int64_t group_dim = rhs.data[at];
  int64_t contracting[] = {term - 1, rhs.data[1 - at]};
  hlo_instr_t *operands[] = {build_value(rewrite, left), dot->operands[1]};
  return build_ragged(rewrite, dot, operands, left, contracting, group_dim);
}

/* Contracts the rows of each group. */
static hlo_instr_t *by_contracted_rows(pass_rewrite_t *rewrite, const hlo_instr_t *dot,
                                       const masked_t *left) {
  masked_t right;
  if (!match_masked(dot->operands[1], &right) || right.starts != left->starts ||
      right.ends != left->ends)
    return NULL;
  if (!has_dims(hlo_attr_ints(dot, HLO_ATTR_LHS_BATCH_DIMS), 1, 0, 0) ||
      !has_dims(hlo_attr_ints(dot, HLO_ATTR_RHS_BATCH_DIMS), 1, 0, 0) ||
      !has_dims(hlo_attr_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS), 1, left->row, 0) ||
      !has_dims(hlo_attr_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS), 1, right.row, 0))
    return NULL;
  int64_t contracting[] = {left->row - 1, right.row - 1};
  hlo_instr_t *operands[] = {build_value(rewrite, left), build_value(rewrite, &right)};
  return build_ragged(rewrite, dot, operands, left, contracting, -1);
}

static bool is_candidate(const hlo_instr_t *dot) {
  masked_t left;
  return dot->op == HLO_DOT && pass_is_plain_float(dot->shape->dtype) &&
         pass_is_plain_float(dot->operands[1]->shape->dtype) &&
         !hlo_attr_enum(dot, HLO_ATTR_ALGORITHM) && match_masked(dot->operands[0], &left);
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *dot, void *context) {
  masked_t left;
  (void)context;
  if (!is_candidate(dot) || !match_masked(dot->operands[0], &left)) return NULL;
  hlo_instr_t *ragged = by_free_rows(rewrite, dot, &left);
  if (!ragged) ragged = by_contracted_rows(rewrite, dot, &left);
  return ragged ? pass_replace(rewrite, dot, ragged) : NULL;
}

static bool has_candidates(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++)
      if (is_candidate(computation->instrs.data[i])) return true;
  }
  return false;
}

/* Masks that both sides need are written twice; CSE merges them. */
hr_status_t pass_masks_to_ragged(hlo_module_t *module, bool *out_changed) {
  if (!has_candidates(module)) return NULL;
  HR_TRY(pass_cse(module, out_changed));
  return pass_rewrite_module(module, visit, NULL, out_changed);
}
